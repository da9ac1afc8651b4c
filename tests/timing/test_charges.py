"""What a call is charged with, and which machine is too busy to rank on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from specimens import make_observation

from robust_kbench.timing.peers import Peers, sample_ns


def test_on_the_processor_the_judges_clock_counts() -> None:
    assert sample_ns(make_observation(elapsed_ns=5_000_000)) == 5_000_000


def test_on_a_gpu_an_event_time_within_the_judges_bound_counts() -> None:
    assert sample_ns(make_observation(elapsed_ns=1_040_000, event_ns=1_000_000), 60_000) == 1_000_000


@pytest.mark.parametrize("claimed", [0, 1, 500_000])
def test_a_forged_event_time_gains_no_more_than_a_launch(claimed: int) -> None:
    assert sample_ns(make_observation(elapsed_ns=1_000_000, event_ns=claimed), 60_000) == 940_000


def test_an_event_time_above_the_judges_clock_is_believed() -> None:
    # A worker that claims to be slower than it was harms itself only.
    assert sample_ns(make_observation(elapsed_ns=1_000_000, event_ns=1_200_000), 60_000) == 1_200_000


def test_a_baseline_is_charged_with_its_events_alone() -> None:
    assert sample_ns(make_observation(elapsed_ns=1_000_000, event_ns=500_000)) == 500_000


def _charged(*gaps_us: int, elapsed_us: int, event_us: int) -> float:
    """What a call is charged with, in us, after baselines' calls of 100 us that cost `gaps_us` besides."""
    peers = Peers()
    for gap_us in gaps_us:
        peers.add(make_observation(elapsed_ns=(100 + gap_us) * 1_000, event_ns=100_000))
    return peers.charge_ns(make_observation(elapsed_ns=elapsed_us * 1_000, event_ns=event_us * 1_000)) / 1e3


def test_a_call_may_cost_as_much_besides_its_kernel_as_those_of_baselines_and_a_launch() -> None:
    assert _charged(300, 300, 300, elapsed_us=1_000, event_us=640) == 640
    assert _charged(300, 300, 300, elapsed_us=1_000, event_us=10) == 640


def test_a_host_that_is_slow_at_times_costs_the_candidate_nothing() -> None:
    # Its own slow calls would otherwise be charged to it, and those of baselines to nobody.
    assert _charged(260, 280, 300, 320, 340, elapsed_us=500, event_us=100) == 100


@pytest.mark.parametrize(("waited_ns", "peer_wake_ns"), [(None, 900_000), (0, 100_000), (50_000, 100_000)])
def test_where_a_calls_waiting_is_unknown_that_of_its_peer_is_no_excuse_for_the_peer(
    waited_ns: int | None, peer_wake_ns: int
) -> None:
    # On a single core everybody waits for the judge; who starts a thread in a call would be compared with one who does
    # not, and whose waiting was taken off.
    peers = Peers()
    peers.add(make_observation(wake_ns=900_000, waited_ns=800_000))
    assert peers.beside(make_observation(wake_ns=900_000, waited_ns=waited_ns)).peer_wake_ns == peer_wake_ns


def _charged_outside(*usual_us: int, outside_us: int) -> float:
    """What a call of 200 us is charged with that used `outside_us` off the clock, after baselines that used others."""
    peers = Peers()
    for each in usual_us:
        peers.add(make_observation(elapsed_ns=100_000, outside_ns=each * 1_000))
    return peers.charge_ns(make_observation(elapsed_ns=200_000, outside_ns=outside_us * 1_000)) / 1e3


@pytest.mark.parametrize(
    ("usual_us", "outside_us", "charged_us"),
    [
        pytest.param((40, 40, 40), 40, 200, id="as baselines"),
        pytest.param((40, 40, 40), 45, 200, id="a little more"),
        pytest.param((40, 40, 40), 90, 245, id="work before GO or after DONE"),
        pytest.param((40, 40, 40), 3, 200, id="less"),
        pytest.param((20, 30, 40, 50, 60), 95, 200, id="where baselines vary"),
        pytest.param((), 90, 200, id="nobody to compare with"),
    ],
)
def test_on_the_processor_work_off_the_clock_is_added(
    usual_us: tuple[int, ...], outside_us: int, charged_us: float
) -> None:
    assert _charged_outside(*usual_us, outside_us=outside_us) == charged_us


CALM: dict[str, int] = {"outside_ns": 40_000, "wake_ns": 100_000, "stopping_ns": 200_000, "rehearsal_ns": 150_000}


def _charged_among_calm_ones(**changes: Any) -> float:
    """What a call of 200 us is charged with beyond these, in us, after baselines that varied little."""
    peers = Peers()
    for more_ns in (0, 1_000, 2_000):
        calm = {name: value + more_ns for name, value in CALM.items()}
        peers.add(make_observation(elapsed_ns=100_000, rehearsal_waited_ns=0, **calm))
    seen = make_observation(**{"elapsed_ns": 200_000, **CALM, "rehearsal_waited_ns": 0, **changes})
    return peers.charge_ns(seen) / 1e3 - 200


@pytest.mark.parametrize(
    ("changes", "charged_us"),
    [
        pytest.param({"may_miss_processes": True}, 0, id="threads that were waited for"),
        pytest.param({"may_miss_processes": True, "stopping_ns": 240_000}, 0, id="a stop that took a little longer"),
        pytest.param({"may_miss_processes": True, "stopping_ns": 1_200_000}, 948, id="a child behind the clock"),
        pytest.param({"may_miss_processes": True, "wake_ns": 1_100_000}, 948, id="a child before it"),
        pytest.param({"stopping_ns": 1_200_000}, 0, id="a slow stop where nobody can have come and gone"),
        pytest.param(
            {"may_miss_processes": True, "stopping_ns": 400_000, "outside_ns": 240_000}, 193, id="what is known counts"
        ),
    ],
)
def test_where_a_process_may_have_come_and_gone_windows_are_held_against_those_of_baselines(
    changes: dict[str, Any], charged_us: float
) -> None:
    assert _charged_among_calm_ones(**changes) == charged_us


@pytest.mark.parametrize(
    ("changes", "charged_us"),
    [
        pytest.param({"rehearsal_ns": 200_000}, 0, id="a wake-up that took a little longer"),
        pytest.param({"rehearsal_ns": 1_201_000}, 1_000, id="a kernel that is called in it"),
        pytest.param({"rehearsal_ns": 1_201_000, "rehearsal_waited_ns": 1_000_000}, 0, id="foreign processes"),
        pytest.param({"rehearsal_ns": 1_201_000, "rehearsal_waited_ns": None}, 1_000, id="unknown waiting"),
        pytest.param({"rehearsal_ns": None}, 0, id="inputs that were there before"),
    ],
)
def test_a_long_rehearsal_is_charged(changes: dict[str, Any], charged_us: float) -> None:
    assert _charged_among_calm_ones(**changes) == charged_us


def test_where_the_waiting_of_a_rehearsal_is_unknown_that_of_baselines_is_not_taken_off_either() -> None:
    peers = Peers()
    for _ in range(3):
        peers.add(make_observation(rehearsal_ns=900_000, rehearsal_waited_ns=800_000))
    hindered = make_observation(elapsed_ns=200_000, rehearsal_ns=900_000)
    assert peers.charge_ns(hindered) == 200_000
    assert peers.charge_ns(replace(hindered, rehearsal_waited_ns=0)) == 200_000 + 750_000

"""What a call is charged with, and which machine is too busy to rank on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from specimens import make_observation

from robust_kbench.schema.observation import Window
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


def test_a_call_stands_beside_what_each_clock_saw_of_the_latest_baseline() -> None:
    peers = Peers()
    peers.add(make_observation(event_ns=100, join_ns=900, wall_ns=900, elapsed_ns=900))
    peers.add(make_observation(event_ns=100, join_ns=110, wall_ns=130, elapsed_ns=170))
    beside = peers.beside(make_observation(event_ns=5, join_ns=6, wall_ns=7, elapsed_ns=8))
    assert (beside.peer_join_gap_ns, beside.peer_wall_gap_ns, beside.peer_gap_ns) == (10, 30, 70)


@pytest.mark.parametrize("claims", [{}, {"join_ns": 110, "wall_ns": 130}], ids=["no clock of a device", "no events"])
def test_without_its_events_nothing_is_known_of_a_baselines_clocks(claims: dict[str, int]) -> None:
    peers = Peers()
    assert peers.beside(make_observation()).peer_join_gap_ns is None
    peers.add(make_observation(elapsed_ns=170, **claims))
    beside = peers.beside(make_observation())
    assert (beside.peer_join_gap_ns, beside.peer_wall_gap_ns, beside.peer_gap_ns) == (None, None, None)


def _charged_outside(*usual_us: int, outside_us: int) -> float:
    """What a call of 200 us is charged with that used `outside_us` off the clock, after baselines that used others."""
    peers = Peers()
    for each in usual_us:
        peers.add(make_observation(elapsed_ns=100_000, outside=Window(used_ns=each * 1_000)))
    return peers.charge_ns(make_observation(elapsed_ns=200_000, outside=Window(used_ns=outside_us * 1_000))) / 1e3


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


CALM = {name: Window(took_ns=300_000, used_ns=40_000) for name in ("preparation", "rehearsal", "outside")}
BEFORE_OR_BEHIND = pytest.mark.parametrize("name", CALM)


def _charged_among_calm_ones(**changed: Window | None) -> float:
    """What a call of 200 us is charged with beyond these, in us, after baselines that varied little."""
    peers = Peers()
    for more_ns in (-1_000, 0, 1_000):
        calm: Any = {name: replace(each, used_ns=each.used_ns + more_ns) for name, each in CALM.items()}
        peers.add(make_observation(elapsed_ns=100_000, **calm))
    return peers.charge_ns(make_observation(**{"elapsed_ns": 200_000, **CALM, **changed})) / 1e3 - 200


@pytest.mark.parametrize(
    ("window", "charged_us"),
    [
        pytest.param(Window(300_000, 40_000, may_miss=True), 0, id="threads that were waited for"),
        pytest.param(Window(350_000, 40_000, may_miss=True), 0, id="a window that was a little longer"),
        pytest.param(Window(1_350_000, 40_000, may_miss=True), 1_000, id="a child that came and went"),
        pytest.param(Window(1_350_000, 40_000), 0, id="a long one where nobody can have come and gone"),
        pytest.param(Window(650_000, 290_000, may_miss=True), 300, id="nothing is charged twice"),
    ],
)
@BEFORE_OR_BEHIND
def test_where_a_process_may_have_come_and_gone_windows_are_held_against_those_of_baselines(
    name: str, window: Window, charged_us: float
) -> None:
    assert _charged_among_calm_ones(**{name: window}) == charged_us


@pytest.mark.parametrize("name", ["preparation", "rehearsal"])
def test_what_is_used_before_the_inputs_is_charged_beyond_what_baselines_use(name: str) -> None:
    assert _charged_among_calm_ones(**{name: Window(300_000, 90_000)}) == 0  # another way of being called
    assert _charged_among_calm_ones(**{name: Window(1_300_000, 1_090_000)}) == 1_000  # a kernel that is called there


def test_what_is_used_before_the_inputs_is_charged_as_a_whole() -> None:
    busy = Window(300_000, 90_000)
    assert _charged_among_calm_ones(preparation=busy, rehearsal=busy) == 50


def test_inputs_that_are_there_before_the_rehearsal_leave_no_such_window() -> None:
    assert _charged_among_calm_ones(rehearsal=None) == 0


@pytest.mark.parametrize(("used_us", "charged_us"), [(180, 0), (260, 60)])
def test_what_is_used_before_the_inputs_has_a_long_tail_which_is_no_excess(used_us: int, charged_us: float) -> None:
    peers = Peers()
    for number in range(200):
        slow_us = 100 if number % 25 == 0 else 0  # four in a hundred
        peers.add(make_observation(preparation=Window(used_ns=(100 + slow_us) * 1_000)))
    seen = make_observation(elapsed_ns=200_000, preparation=Window(used_ns=used_us * 1_000))
    assert peers.charge_ns(seen) / 1e3 - 200 == charged_us

"""Charges on calls, and the load above which a machine is too busy to rank on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from specimens import make_observation

from robust_kbench.schema.observation import Observation, Window
from robust_kbench.timing.peers import Peers


def test_without_a_baseline_the_judges_clock_counts() -> None:
    assert Peers().charge_ns(make_observation(elapsed_ns=5_000_000)) == 5_000_000
    assert Peers().charge_ns(make_observation(elapsed_ns=5_000_000, clock="gate", delays_ns=(9**9, 9**9))) == 5_000_000
    assert Peers().charge_ns(make_observation(elapsed_ns=5_000_000, clock="gate", taking_excess_ns=7)) == 5_000_007


USUAL_US = (100, 1_000)
"""Times of the judge's own work before a call on a CUDA device: by the device's clock, and by the host's."""


def _delayed(more_device_us: int, more_host_us: int, *, spread_us: int = 1) -> tuple[Peers, Observation]:
    """Make peers whose calls were usual, but for some spread, and a call of 500 us before which it took longer."""
    peers = Peers()
    for more_us in (0, 0, spread_us, 2 * spread_us, 2 * spread_us):
        peers.add(make_observation(clock="gate", delays_ns=tuple((usual + more_us) * 1_000 for usual in USUAL_US)))
    device_us, host_us = USUAL_US[0] + more_device_us, USUAL_US[1] + more_host_us
    return peers, make_observation(elapsed_ns=500_000, clock="gate", delays_ns=(device_us * 1_000, host_us * 1_000))


@pytest.mark.parametrize(
    ("device_us", "host_us", "charged_us"),
    [
        pytest.param(0, 0, 0, id="as usual"),
        pytest.param(-90, -900, 0, id="less"),
        pytest.param(30, 300, 0, id="all that is allowed"),
        pytest.param(31, 0, 1, id="too long on the device"),
        pytest.param(300, 0, 270, id="a turn of somebody else"),
        pytest.param(0, 301, 1, id="too long on the host"),
        pytest.param(0, 1_000, 700, id="a start that was held up"),
        pytest.param(330, 1_000, 700, id="nothing is charged twice"),
    ],
)
def test_who_holds_up_the_judges_work_before_a_call_is_charged_beyond_the_allowance(
    device_us: int, host_us: int, charged_us: int
) -> None:
    peers, seen = _delayed(device_us, host_us)
    assert peers.delay_ns(seen) == charged_us * 1_000
    assert peers.charge_ns(seen) == (500 + charged_us) * 1_000


def test_who_disturbs_the_calls_of_baselines_makes_no_delay_seem_usual() -> None:
    peers, seen = _delayed(300, 0, spread_us=290)
    assert peers.delay_ns(seen) == 270_000


def _expecting(usual_us: int, *, idle_us: tuple[int, int] = (100, 1_000)) -> Peers:
    """Make peers whose calls all had such delays on the device, longer ones than before there was any worker."""
    peers = Peers()
    peers.expect((idle_us[0] * 1_000, idle_us[1] * 1_000))
    for _ in range(20):
        peers.add(make_observation(clock="gate", delays_ns=(usual_us * 1_000, idle_us[1] * 1_000)))
    return peers


def _delayed_by(device_us: int, host_us: int = 1_000) -> Observation:
    return make_observation(elapsed_ns=500_000, clock="gate", delays_ns=(device_us * 1_000, host_us * 1_000))


def test_who_has_the_device_before_every_call_of_baselines_makes_no_delay_seem_usual() -> None:
    hogged_us = 100 + 3 * 145  # it begins with a change of contexts, and two more enclose a turn of the hog's
    assert Peers().delay_ns(_delayed_by(hogged_us)) == 0  # nobody knows what is usual
    assert _expecting(hogged_us).delay_ns(_delayed_by(hogged_us)) == (hogged_us - 100 - 160 - 30) * 1_000
    assert _expecting(100).delay_ns(_delayed_by(100, 2_000)) == 700_000  # of the host, as without
    assert _expecting(100, idle_us=(100, 100)).delay_ns(_delayed_by(100, 900)) == 500_000


def test_one_change_of_contexts_before_every_call_is_no_delay() -> None:
    changed_us = 100 + 145
    assert _expecting(changed_us).delay_ns(_delayed_by(changed_us)) == 0
    assert _expecting(changed_us).delay_ns(_delayed_by(changed_us + 30)) == 0  # all that is allowed


def test_what_baselines_show_to_be_less_is_what_is_usual_whatever_was_expected() -> None:
    assert _expecting(100, idle_us=(400, 1_000)).delay_ns(_delayed_by(400)) == 270_000


def test_before_any_baseline_is_called_what_was_expected_is_usual() -> None:
    peers = Peers()
    peers.expect((100_000, 1_000_000))
    assert peers.delay_ns(_delayed_by(260)) == 0
    assert peers.delay_ns(_delayed_by(400)) == (400 - 100 - 160 - 30) * 1_000


def test_a_call_that_is_no_sample_shows_nothing_of_what_is_usual() -> None:
    peers, seen = _delayed(0, 0)
    peers.add(make_observation(clock=None, delays_ns=(1_000, 1_000)))  # the judge had less to write
    assert peers.delay_ns(seen) == 0


def test_launches_on_the_wall_clock_are_charged_for_delays_as_well() -> None:
    peers, seen = _delayed(300, 0)
    assert peers.charge_ns(replace(seen, clock="wall")) == 770_000


def test_on_a_device_use_of_the_processor_costs_nothing() -> None:
    peers, seen = _delayed(0, 0)
    busy = Window(9_000_000, 9_000_000, may_miss=True)
    seen = replace(seen, preparation=busy, used_ns=9_000_000, stopping_ns=9_000_000, may_miss=True)
    assert peers.charge_ns(seen) == 500_000


def _peers_of(*calls: Observation, first: Observation | None = None) -> Peers:
    peers = Peers()
    if first is not None:
        peers.add(first, is_first=True)
    for call in calls:
        peers.add(call)
    return peers


def _call(us: int, *, used_us: int | None, waited_us: int = 0, stopping_us: int = 60, **changes: Any) -> Observation:
    """Make a call of `us` on the judge's clock, with the use and the waits until it was stopped."""
    used_ns = None if used_us is None else used_us * 1_000
    return make_observation(
        elapsed_ns=us * 1_000, used_ns=used_ns, waited_ns=waited_us * 1_000, stopping_ns=stopping_us * 1_000, **changes
    )


USUAL = [_call(100, used_us=110, waited_us=20) for _ in range(3)]
"""Calls of baselines: 20 us until a processor is free, 80 us of work, and 30 us for what ends a call."""


@pytest.mark.parametrize(
    ("seen", "charged_us"),
    [
        pytest.param(_call(220, used_us=230, waited_us=20), 200, id="as baselines"),
        pytest.param(_call(220, used_us=235, waited_us=20), 200, id="a little more"),
        pytest.param(_call(220, used_us=335, waited_us=20), 300, id="work behind DONE"),
        pytest.param(_call(220, used_us=205, waited_us=20), 200, id="less"),
        pytest.param(_call(8, used_us=235), 200, id="a word that was there before"),
        pytest.param(_call(5_220, used_us=230, waited_us=5_020), 200, id="others had the processor"),
        pytest.param(_call(220, used_us=235, waited_us=9_000), 200, id="others had the processor behind DONE"),
        pytest.param(_call(5_220, used_us=230, waited_us=20), 5_200, id="it slept"),
        pytest.param(_call(220, used_us=None, waited_us=20), 200, id="a child is gone"),
    ],
)
def test_a_call_takes_what_it_used_at_least_and_no_wait_for_a_processor(seen: Observation, charged_us: int) -> None:
    assert _peers_of(*USUAL).charge_ns(seen) == charged_us * 1_000
    if seen.used_ns is not None:
        assert _peers_of(*USUAL).time_ns(seen) == charged_us * 1_000  # of a baseline


def test_with_nobody_to_compare_with_the_judges_clock_counts() -> None:
    assert Peers().charge_ns(_call(220, used_us=900, waited_us=20)) == 200_000


def test_what_ends_a_call_is_no_gain_where_it_is_less_than_usual() -> None:
    waiting = [_call(900, used_us=80, waited_us=20) for _ in range(3)]  # the judge saw their end late
    assert _peers_of(*waiting).charge_ns(_call(220, used_us=205, waited_us=20)) == 200_000


@pytest.mark.parametrize(
    ("stopping_us", "waited_us", "charged_us"),
    [
        pytest.param(60, 20, 200, id="as baselines"),
        pytest.param(100, 20, 200, id="a stop that took a little longer"),
        pytest.param(1_110, 20, 1_200, id="a child that worked until the stop"),
        pytest.param(60, 120, 200, id="a wait for a child that is gone"),
    ],
)
def test_where_a_process_may_have_come_and_gone_it_is_charged(
    stopping_us: int, waited_us: int, charged_us: int
) -> None:
    # The child has worked in the time for which the worker waited: only what waking up takes is left out.
    us = 220
    seen = _call(us, used_us=us - waited_us, waited_us=waited_us, stopping_us=stopping_us, may_miss=True)
    assert _peers_of(*USUAL).charge_ns(seen) == charged_us * 1_000
    sure = replace(seen, may_miss=False)
    assert _peers_of(*USUAL).charge_ns(sure) == (us - waited_us) * 1_000


def test_what_a_first_call_needs_is_not_usual() -> None:
    """The largest of a hundred calls is the need of one in a hundred. It was a first call, with 1 to 12 ms."""
    usual = [_call(100, used_us=110, waited_us=20, preparation=_used(600)) for _ in range(50)]
    first = _call(100, used_us=990, waited_us=20, preparation=_used(9_000))
    seen = _call(220, used_us=230, waited_us=20, preparation=_used(5_000))
    assert _peers_of(first, *usual).charge_ns(seen) == 200_000
    assert _peers_of(*usual, first=first).charge_ns(seen) == (200 + 5_000 - 650) * 1_000


def _used(us: int) -> Window:
    return Window(used_ns=us * 1_000)


CALM = {name: Window(took_ns=300_000, used_ns=40_000) for name in ("preparation", "rehearsal")}


def _charged_among_calm_ones(**changed: Window | None) -> float:
    """Return the charge on a call of 200 us beyond these, in us, after baselines that varied little."""
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
@pytest.mark.parametrize("name", CALM)
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


def test_a_call_that_rehearses_nothing_has_no_such_window() -> None:
    assert _charged_among_calm_ones(rehearsal=None) == 0


@pytest.mark.parametrize(("used_us", "charged_us"), [(180, 0), (260, 60)])
def test_what_is_used_before_the_inputs_has_a_long_tail_which_is_no_excess(used_us: int, charged_us: float) -> None:
    peers = Peers()
    for number in range(200):
        slow_us = 100 if number % 25 == 0 else 0  # four in a hundred
        peers.add(make_observation(preparation=Window(used_ns=(100 + slow_us) * 1_000)))
    seen = make_observation(elapsed_ns=200_000, preparation=Window(used_ns=used_us * 1_000))
    assert peers.charge_ns(seen) / 1e3 - 200 == charged_us

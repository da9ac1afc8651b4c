"""Drift of a CUDA device's clock, from calls of nothing."""

from __future__ import annotations

import pytest

from robust_kbench.timing.clock_drift import UNCHARGED_NS, ClockDrift

BEFORE = {"eager": [290_000, 290_200, 290_400], "compiled": [291_000]}


def drift(*elapsed_ns: int | None, name: str = "eager") -> ClockDrift:
    found = ClockDrift(BEFORE)
    for each in elapsed_ns:
        found.add(name, each)
    return found


def test_each_worker_is_held_against_itself() -> None:
    found = drift(290_300)
    found.add("compiled", 291_100)
    assert found.median_ns == 100


def test_a_clock_that_nobody_has_looked_at_has_not_drifted() -> None:
    assert (drift().median_ns, drift().charge_ns, drift().is_too_large) == (0, 0, False)


@pytest.mark.parametrize("sign", [1, -1])
def test_only_what_honest_sessions_never_show_is_charged(sign: int) -> None:
    at_most = drift(290_200 + sign * UNCHARGED_NS)
    beyond = drift(290_200 + sign * (UNCHARGED_NS + 100))
    assert at_most.charge_ns == 0
    assert beyond.charge_ns == (UNCHARGED_NS + 100 if sign > 0 else 0)


@pytest.mark.parametrize(
    ("elapsed_us", "is_too_large"),
    [
        ([290.2] * 8, False),
        ([291.6] * 8, False),
        ([291.8] * 8, True),
        ([290.2] * 6 + [299.0] * 2, True),
        ([290.2] * 7 + [299.0], False),
        ([288.2] * 8, False),
        ([286.2] * 8, True),
    ],
)
def test_the_middle_or_a_quarter_of_the_calls_tells_that_times_must_not_count(
    elapsed_us: list[float], is_too_large: bool
) -> None:
    assert drift(*(round(us * 1e3) for us in elapsed_us)).is_too_large is is_too_large


def test_phases_are_looked_at_by_themselves() -> None:
    found = drift(*[290_200] * 8)
    found.begin_phase()
    found.add("eager", 299_200)
    found.begin_phase()
    for _ in range(40):
        found.add("eager", 290_300)
    assert (found.median_ns, found.is_too_large) == (9_000, True)
    assert str(found) == "empty calls take 9.0 us longer than without a candidate, and one in four 9.0 us"


@pytest.mark.parametrize(("more_us", "is_blatant"), [(4.9, False), (5.1, True)])
def test_only_what_no_device_does_by_itself_is_blatant(more_us: float, is_blatant: bool) -> None:
    found = drift(*[290_200] * 6, *[round(1e3 * (290.2 + more_us))] * 2)
    assert (found.is_too_large, found.is_blatant) == (True, is_blatant)


def test_what_calls_take_longer_without_the_candidate_is_taken_off() -> None:
    found = drift(*[292_900] * 8)
    assert (found.median_ns, found.charge_ns, found.is_too_large) == (2_700, 2_700, True)
    found.reference_ns = 2_500
    assert (found.median_ns, found.charge_ns, found.is_too_large) == (200, 0, False)


def test_calls_that_others_held_up_are_no_times_but_too_many_of_them_are_told() -> None:
    some, many = drift(290_200, 290_300, None, None), drift(290_200, None, None)
    assert (some.median_ns, some.is_too_large) == (50, False)
    assert many.is_too_large
    assert str(many) == "others have the device before 2 of 3 empty calls"


def test_a_worker_that_was_not_measured_before_tells_nothing() -> None:
    assert drift(290_200, name="unknown").is_too_large

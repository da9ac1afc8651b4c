"""Calibration of the judge's clock on a CUDA device, and the amount that is taken off its times."""

from __future__ import annotations

from typing import Any

import pytest

from robust_kbench.schema.observation import Way
from robust_kbench.timing.calibration import EMPTY_KERNEL_NS, Calibration
from robust_kbench.timing.result import SessionResult

US = 1_000
SWITCHES_US, WORD_US, WALL_US = 290, 150, 40
"""Times that the judge's clock shows of an empty call besides its kernel, in each of the three ways."""
LAUNCH_US = 2
"""Time that two events show besides a kernel."""


def calibrated(**changes: Any) -> Calibration:
    """Calibrate by calls of a trusted kernel of 100 us, whose writes make a change of contexts 5 us longer."""
    around_us: dict[Way, int] = {"turn": SWITCHES_US, "word": WORD_US, "wall": WALL_US}
    facts: dict[str, Any] = {
        "empty": {way: [us * US + EMPTY_KERNEL_NS] * 3 for way, us in around_us.items()},
        "empty_events": [LAUNCH_US * US + EMPTY_KERNEL_NS] * 3,
        "events": [(100 + LAUNCH_US) * US] * 3,
        "around_events": [(100 + SWITCHES_US + 5) * US] * 3,
    }
    return Calibration(**{**facts, **changes})


TRUSTED_NS = [(100 + SWITCHES_US + 5) * US] * 3


def test_of_times_that_end_as_the_trusted_ones_do_all_is_taken_off_that_is_not_its_kernel() -> None:
    assert calibrated().offset_ns("turn", "turn", TRUSTED_NS) == (SWITCHES_US + 5) * US


@pytest.mark.parametrize(("way", "offset_us"), [("turn", SWITCHES_US), ("word", WORD_US)])
def test_of_times_that_end_in_another_way_an_empty_call_is_taken_off(way: Way, offset_us: int) -> None:
    trusted: Way = "word" if way == "turn" else "turn"
    assert calibrated().offset_ns(way, trusted, TRUSTED_NS) == offset_us * US


def test_of_times_on_the_wall_clock_an_empty_call_is_taken_off_and_launches_are_not() -> None:
    assert calibrated().offset_ns("wall", "wall", TRUSTED_NS) == WALL_US * US


@pytest.mark.parametrize("missing", ["events", "empty_events"])
def test_without_events_an_empty_call_is_taken_off(missing: str) -> None:
    assert calibrated(**{missing: []}).offset_ns("turn", "turn", TRUSTED_NS) == SWITCHES_US * US


def test_without_times_of_the_trusted_one_an_empty_call_is_taken_off() -> None:
    assert calibrated().offset_ns("turn", "turn", []) == SWITCHES_US * US


@pytest.mark.parametrize(
    ("way", "empty_us", "resolution_us"),
    [
        ("turn", [300, 320, 360], 1),
        ("wall", [400, 420, 460], 20),
        ("wall", [400, 400, 400], 1),
        ("wall", [], 1),
    ],
)
def test_the_wall_clock_tells_apart_what_a_usual_empty_call_exceeds_the_shortest_by(
    way: Way, empty_us: list[int], resolution_us: int
) -> None:
    found = Calibration(empty={way: [us * US for us in empty_us]})
    assert found.resolution_ns(way) == resolution_us * US


@pytest.mark.parametrize(("way", "least_ns"), [("turn", EMPTY_KERNEL_NS), ("word", EMPTY_KERNEL_NS), ("wall", 20 * US)])
def test_no_time_is_shorter_than_an_empty_kernel_or_what_the_wall_clock_tells_apart(way: Way, least_ns: int) -> None:
    """Samples shorter than any empty call once made a kernel 1.6 million times as fast as PyTorch."""
    found = Calibration(empty={way: [400 * US, 420 * US, 460 * US]})
    result = SessionResult({"candidate": [390 * US, 800 * US]}, found, {"candidate": way, "eager": way})
    assert result.times("candidate") == [least_ns, 400 * US + EMPTY_KERNEL_NS]


def test_what_was_never_measured_takes_nothing_off() -> None:
    assert Calibration().offset_ns("turn", "turn", TRUSTED_NS) == 0


def test_a_few_disturbed_calls_do_not_move_the_offset() -> None:
    events = [(100 + LAUNCH_US) * US] * 3 + [9_000 * US] * 2
    empty_events = [LAUNCH_US * US + EMPTY_KERNEL_NS] * 3 + [0, 9_000 * US]
    found = calibrated(events=events, empty_events=empty_events, around_events=[]).offset_ns(
        "turn", "turn", [*TRUSTED_NS, 9**9, 0]
    )
    assert found == (SWITCHES_US + 5) * US


def test_the_spread_is_how_far_single_calls_on_equal_terms_lie_apart() -> None:
    assert calibrated(around_events=[100, 101, 103, 104, 900]).spread_ns() == 2
    assert Calibration().spread_ns() is None


def test_calls_that_a_candidate_lengthens_do_not_raise_the_offset_above_pairs_of_both_clocks() -> None:
    longer_ns = [each + 290 * US for each in TRUSTED_NS]
    found = calibrated().offset_ns("turn", "turn", longer_ns)
    pairs = calibrated()
    bound_ns = max(around - inside for around, inside in zip(pairs.around_events, pairs.events, strict=True))
    assert pairs.around_events
    assert found <= bound_ns + LAUNCH_US * US


def test_what_the_trusted_one_does_outside_its_events_is_no_part_of_the_constant() -> None:
    copied_us = 30
    around_ns = [each + copied_us * US for each in calibrated().around_events]
    found = calibrated(around_events=around_ns).offset_ns("turn", "turn", around_ns)
    assert found <= (SWITCHES_US + 5 + 3) * US


def test_an_empty_call_in_another_way_is_bounded_by_what_ways_differ_by() -> None:
    found = calibrated(empty={"word": [9_000 * US] * 7}).offset_ns("word", "turn", TRUSTED_NS)
    assert found <= (SWITCHES_US + 5 + 8) * US


@pytest.mark.parametrize(
    ("nothing", "difference_ns"),
    [
        ({"candidate": [293_000, 291_000, 900_000], "eager": [290_000, 289_000, 291_000]}, 3_000),
        ({"candidate": [289_000], "eager": [290_000]}, -1_000),
        ({"candidate": [], "eager": [290_000]}, 0),
        ({"candidate": [293_000]}, 0),
        ({}, 0),
    ],
)
def test_what_calls_of_nothing_take_longer_in_one_worker_is_known_if_both_were_measured(
    nothing: dict[str, list[int]], difference_ns: int
) -> None:
    found = Calibration(nothing=nothing)
    assert found.difference_ns("candidate", "eager") == difference_ns
    assert found.difference_ns("eager", "candidate") == -difference_ns
    assert found.difference_ns("eager", "eager") == 0

"""Conclusions from outcomes: whether mutants are near or far, which cases kill them, and how soon they are found."""

from __future__ import annotations

import pytest

from robust_kbench.audit.detection import chance
from robust_kbench.audit.tally import Outcome, Tally, Trial
from robust_kbench.audit.variants import Kind
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Layout, Probe


def case(layout: Layout = "contiguous", probe: Probe | None = None) -> Case:
    return Case(axes={"n": 4}, dtype="float32", layout=layout, seed=1, probe=probe)


def tally(kind: Kind, *ratios: float, name: str = "it", is_equal: bool = False) -> Tally:
    outcomes = [Outcome(number, ratio, ratio <= 1.0, is_equal) for number, ratio in enumerate(ratios)]
    return Tally(name, kind, "It.", False, outcomes)


def trial(*tallies: Tally, cases: tuple[Case, ...] = (case(), case(), case())) -> Trial:
    return Trial("norm/scale", "float32", cases, len(cases), tallies)


@pytest.mark.parametrize(
    ("ratios", "distance", "is_near"),
    [
        ((0.3, 6.0, 8.0), 7.0, True),  # the first does not show: an honest variant is as far off
        ((0.3, 9.0, 900.0), 454.5, False),
        ((0.3, 0.2, 0.1), 0.0, False),
        ((0.3, 10.0, 10.0), 10.0, True),
        ((0.3, float("inf"), float("inf")), float("inf"), False),
    ],
)
def test_near_is_the_median_error_where_a_mutant_shows(
    ratios: tuple[float, ...], distance: float, is_near: bool
) -> None:
    mutant, honest = tally("mutant", *ratios), tally("honest", 0.4, 0.4, 0.4)
    found = trial(mutant, honest)
    assert found.distance(mutant) == distance
    assert found.is_near(mutant) is is_near


def test_probes_say_nothing_about_nearness() -> None:
    mutant = tally("mutant", 5.0, 1000.0, 2000.0)
    found = trial(mutant, tally("honest", 0.1, 0.1, 0.1), cases=(case(), case(probe="integers"), case(probe="stall")))
    assert found.distance(mutant) == 5.0


def test_a_layout_is_passed_where_a_mutant_shows_and_no_case_refuses_it() -> None:
    cases = (case("contiguous"), case("offset"), case("strided"), case("offset"))
    mutant, honest = tally("mutant", 3.0, 0.9, 0.1, 0.8), tally("honest", 0.2, 0.2, 0.2, 0.2)
    assert trial(mutant, honest, cases=cases).layouts_passed(mutant) == ["offset"]


def test_a_probe_kills_in_every_layout_but_the_expanded_one() -> None:
    cases = (case("offset"), case("strided"), case("expanded"), case(probe="integers"))
    mutant, honest = tally("mutant", 0.9, 0.9, 0.9, 50.0), tally("honest", 0.2, 0.2, 0.2, 0.2)
    assert trial(mutant, honest, cases=cases).layouts_passed(mutant) == ["expanded"]


def test_a_property_has_no_error_that_could_be_near() -> None:
    mutant = tally("mutant", 0.3, 0.3)
    mutant.outcomes.append(Outcome(1, 0.0, False, False, prop="reseeded"))
    found = trial(mutant, tally("honest", 0.1, 0.1))
    assert found.distance(mutant) == 0.3
    assert mutant.largest == 0.3
    assert found.layouts_passed(mutant) == []


def test_what_is_always_pytorchs_answer_is_no_variant() -> None:
    same, other = tally("mutant", 0.3, 0.3, 0.3, is_equal=True), tally("mutant", 2.0, 0.3, 0.3)
    found = trial(same, other)
    assert found.of("mutant") == [other]
    assert found.is_idle(same)
    assert not found.is_idle(other)
    assert not found.is_idle(Tally("never applies", "mutant", "", True, []))


def test_to_differ_in_probes_alone_is_idle_all_the_same() -> None:
    outcomes = [Outcome(0, 0.0, True, True), Outcome(1, 9.0, False, False)]
    zeros = Tally("zeros", "non-answer", "", True, outcomes)
    assert trial(zeros, cases=(case(), case(probe="nonfinite"))).is_idle(zeros)


def test_the_chance_of_an_evaluation_follows_from_the_shares_of_the_first_round() -> None:
    # Refused by half of the drawn cases, by no integers probe, and by a case of a later round that does not count.
    cases = (case(), case(), case(probe="integers"), case())
    mutant = Tally("it", "mutant", "", False, [Outcome(n, 2.0, n not in (0, 3), False) for n in range(4)])
    found = Trial("norm/scale", "float32", cases, 3, (mutant,))
    assert chance(found, mutant, "quick", 3) == pytest.approx(1 - 0.5**8)
    assert chance(found, mutant, "full", 3) == pytest.approx(1 - 0.5**24)

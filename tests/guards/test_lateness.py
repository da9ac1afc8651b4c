"""Outputs that change after the call is said to be over."""

from __future__ import annotations

from typing import Any

import pytest
from specimens import make_case, make_observation

from robust_kbench import guards
from robust_kbench.guards import lateness
from robust_kbench.schema.observation import Observation

TURN, WORD = None, "gate"
"""The clock of a late call that ended by the judge's turn, and of one that ended by its word."""
MESSAGE = "outputs change after the end of the call: join every stream with the current one before you return"


def late(clock: str | None, count: int = 1, seed: int = 7) -> list[Observation]:
    case = make_case(role="timed", seed=seed)
    return [make_observation(case=case, clock=clock, is_late=True) for _ in range(count)]


def honest(count: int = 9) -> list[Observation]:
    return [make_observation(role="timed", clock="gate") for _ in range(count)]


def severities(seen: list[Observation]) -> list[str]:
    return [finding.severity for finding in lateness.inspect(seen)]


def test_calls_whose_outputs_stay_as_they_were_give_no_finding() -> None:
    assert severities(honest()) == []
    assert severities([]) == []


def test_a_single_call_that_outlasts_the_judges_turn_may_be_the_machines_doing() -> None:
    assert severities([*honest(), *late(TURN), *honest()]) == []


@pytest.mark.parametrize("count", [2, 30])
def test_several_calls_that_outlast_the_judges_turn_are_rejected(count: int) -> None:
    assert severities([*honest(), *late(TURN, count), *honest()]) == ["reject"]


def test_a_single_end_word_that_came_too_early_is_rejected() -> None:
    assert severities([*honest(), *late(WORD)]) == ["reject"]


def test_a_word_that_came_too_early_is_rejected_behind_a_late_turn_as_well() -> None:
    assert severities([*late(TURN), *honest(), *late(WORD)]) == ["reject"]


def test_the_finding_names_the_first_late_case_and_says_what_to_do() -> None:
    (finding,) = guards.inspect([*honest(), *late(TURN, seed=1), *late(TURN, seed=2)])
    assert (finding.guard, finding.message) == ("lateness", MESSAGE)
    assert finding.case == str(make_case(role="timed", seed=1))


def unscored(**changes: Any) -> list[Observation]:
    case = make_case(role="timed").model_copy(update=changes)
    return [make_observation(case=case, clock=TURN, is_late=True) for _ in range(5)]


@pytest.mark.parametrize("changes", [{"role": "check", "layout": "strided"}, {"distribution": "one_hot"}])
def test_calls_that_are_never_scored_may_outlast_the_judges_turn(changes: dict[str, Any]) -> None:
    """An honest kernel may be slow in another layout, or where values tie."""
    assert severities([*honest(), *unscored(**changes), *late(TURN)]) == []


@pytest.mark.parametrize("changes", [{"role": "check", "layout": "strided"}, {"distribution": "one_hot"}])
def test_a_word_that_came_too_early_is_rejected_wherever_it_did(changes: dict[str, Any]) -> None:
    case = make_case(role="timed").model_copy(update=changes)
    assert severities([make_observation(case=case, clock=WORD, is_late=True)]) == ["reject"]

"""Sessions on a clock that changes while they last: none of their samples is believed, at any tier."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from made_sessions import TIMED, measured_in
from specimens import make_observation

from robust_kbench.errors import HarnessError
from robust_kbench.schema.record import Tier, decode_samples
from robust_kbench.timing import measure as measuring
from robust_kbench.timing.clock_drift import LEFT_BEHIND, UNSTEADY_CLOCK
from robust_kbench.timing.measure import Measured
from robust_kbench.timing.result import SessionResult

CHANGED = f"{UNSTEADY_CLOCK}: empty calls take 7.0 us longer"


@pytest.fixture(autouse=True)
def waits_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited = list[float]()
    monkeypatch.setattr(measuring, "sleep", waited.append)
    return waited


def session(time_ns: int, disturbance: str = "", **changes: Any) -> SessionResult:
    return SessionResult({"candidate": [time_ns] * 9, "eager": [200] * 9}, disturbance=disturbance, **changes)


@pytest.mark.parametrize("tier", ["quick", "full"])
def test_a_session_whose_clock_changed_is_replaced(monkeypatch: pytest.MonkeyPatch, tier: Tier) -> None:
    made = iter([session(1, CHANGED), session(2, CHANGED), *(session(100) for _ in range(9))])
    (timing,) = measured_in(monkeypatch, tier, lambda: next(made)).timings
    assert {decode_samples(each.samples["candidate"])[0] for each in timing.sessions} == {100}
    assert timing.sessions[0].repeated == 2


def test_three_sessions_in_a_row_whose_clock_changed_are_no_verdict(
    monkeypatch: pytest.MonkeyPatch, waits_s: list[float]
) -> None:
    made = iter([session(1, CHANGED)] * 3)
    with pytest.raises(
        HarnessError, match="changed: empty calls take 7.0 us longer; use a device on which nobody else"
    ):
        measured_in(monkeypatch, "quick", lambda: next(made))
    assert waits_s == [1.0, 2.0]


def test_a_clock_that_changes_only_beside_the_candidate_is_its_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time and again it left copies while samples counted, and nothing afterwards."""
    made = iter([session(1, CHANGED, is_steady_alone=True)] * 3)
    measured = measured_in(monkeypatch, "quick", lambda: next(made))
    assert f"{LEFT_BEHIND}, in 3 sessions in a row: {CHANGED}" in measured.failure
    assert measured.timings == []


def test_one_session_that_was_unsteady_without_it_as_well_excuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = iter([session(1, CHANGED, is_steady_alone=number != 1) for number in range(3)])
    with pytest.raises(HarnessError, match="use a device on which nobody else works"):
        measured_in(monkeypatch, "quick", lambda: next(made))


@pytest.mark.parametrize("why", [CHANGED, "others had the device"])
def test_what_a_session_shows_that_is_thrown_away_is_held_against_the_candidate(
    monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    facts = [make_observation(changed_inputs=("x",)), make_observation(clock="gate", is_late=True)]
    # How long it waited tells of others, and so may a call that outlasts its turn.
    seen = [*facts, make_observation(waited_ns=9**9), make_observation(clock=None, is_late=True)]
    made = iter([session(1, why, seen=seen), *(session(100) for _ in range(9))])
    measured = measured_in(monkeypatch, "full", lambda: next(made))
    assert measured.seen == facts


def test_a_session_that_others_disturbed_in_another_way_counts_at_tier_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = measured_in(monkeypatch, "quick", lambda: session(100, "others had the device"))
    assert len(measured.timings[0].sessions) == 1


@pytest.mark.parametrize("failure", ["", "its outputs change after the end of the call"])
def test_what_a_session_has_shown_before_an_error_of_ours_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    changed = make_observation(changed_inputs=("x",))

    class Session:
        so_far = session(1, seen=[changed], failure=failure)

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def run(self, workers: object = None) -> SessionResult:
            raise HarnessError("others have the device")

    measured = Measured()
    with nullcontext() if failure else pytest.raises(HarnessError, match="others have the device"):
        measured_in(monkeypatch, "quick", Session, measured)
    assert changed in measured.seen
    assert measured.failure == (f"{TIMED}: {failure}" if failure else "")

"""Sessions with no evidence but the worker's waking are measured anew before a submission is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from made_sessions import measured_in
from specimens import make_observation

from robust_kbench import guards
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import Tier, decode_samples
from robust_kbench.timing.measure import Measured
from robust_kbench.timing.result import SessionResult

PROMPT, LATE = 30_000, 4_000_000


def seen_in_a_session(wake_ns: int, **changes: Any) -> list[Observation]:
    return [make_observation(role="timed", peer_wake_ns=PROMPT, wake_ns=wake_ns, **changes) for _ in range(9)]


def measured_with(
    monkeypatch: pytest.MonkeyPatch, wakings: Sequence[int], tier: Tier = "quick", failure: str = ""
) -> tuple[Measured, int]:
    """Measure with sessions whose workers wake up so late, one after the other; return the result and their number."""
    left, used = iter(wakings), list[int]()

    def session() -> SessionResult:
        used.append(next(left))
        samples = {"candidate": [used[-1]] * 9, "eager": [2 * LATE] * 9}
        return SessionResult(samples, seen=seen_in_a_session(used[-1]), failure=failure)

    measured = measured_in(monkeypatch, tier, session)
    return measured, len(used)


def samples_of(measured: Measured) -> list[int]:
    (timing,) = measured.timings
    return [decode_samples(session.samples["candidate"])[0] for session in timing.sessions]


def refusals(measured: Measured) -> list[str]:
    return [finding.guard for finding in guards.inspect(measured.seen) if finding.severity == "reject"]


def test_a_session_in_which_the_worker_dawdled_once_is_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, used = measured_with(monkeypatch, [LATE, PROMPT])
    assert (samples_of(measured), used, refusals(measured)) == ([PROMPT], 2, [])
    assert measured.timings[0].sessions[0].repeated == 1


def test_a_worker_that_dawdles_in_three_sessions_running_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, used = measured_with(monkeypatch, [LATE, LATE, LATE])
    assert (used, refusals(measured)) == (3, ["clock"])


def test_a_confirmed_doubt_costs_no_further_session(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, used = measured_with(monkeypatch, [LATE] * 20, tier="full")
    assert (len(samples_of(measured)), used, refusals(measured)) == (5, 7, ["clock"])


def test_a_prompt_worker_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, used = measured_with(monkeypatch, [PROMPT])
    assert (samples_of(measured), used) == ([PROMPT], 1)


def test_a_session_in_which_the_candidate_failed_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, used = measured_with(monkeypatch, [LATE, PROMPT], failure="wrong")
    assert (measured.failure.rpartition(": ")[2], used) == ("wrong", 1)


def test_only_the_clock_needs_confirmation_and_nothing_else_is_forgotten_for_it() -> None:
    assert guards.needs_confirmation(seen_in_a_session(LATE))
    assert not guards.needs_confirmation(seen_in_a_session(PROMPT))
    assert not guards.needs_confirmation(seen_in_a_session(LATE, changed_inputs=("x",)))
    assert not guards.needs_confirmation([])

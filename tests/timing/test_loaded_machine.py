"""Load from others on the machine: a session is measured again, after a while, and not for ever."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from made_sessions import measured_in

from robust_kbench.schema.record import Tier
from robust_kbench.timing import measure as measuring
from robust_kbench.timing.measure import Measured
from robust_kbench.timing.result import SessionResult

QUIET, LOUD = 0.01, 0.3
"""Share of a core that others use."""


def measured_with(
    monkeypatch: pytest.MonkeyPatch, loads: Sequence[float], tier: Tier = "full"
) -> tuple[Measured, list[float]]:
    """Measure with sessions of these loads, and then quiet ones; return the result and the length of each wait."""
    left, waits = iter(loads), list[float]()

    def session() -> SessionResult:
        return SessionResult({"candidate": [1000] * 9, "eager": [2000] * 9}, foreign_load=next(left, QUIET))

    monkeypatch.setattr(measuring, "sleep", waits.append)
    measured = measured_in(monkeypatch, tier, session)
    return measured, waits


def repeated(measured: Measured) -> list[int]:
    (timing,) = measured.timings
    assert all(session.is_quiet for session in timing.sessions) == (not measured.findings)
    return [session.repeated for session in timing.sessions]


def test_a_session_beside_others_is_repeated_after_ever_longer_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, waits = measured_with(monkeypatch, [QUIET, *[LOUD] * 6])
    assert repeated(measured) == [0, 6, 0, 0, 0]
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]


def test_a_session_that_stays_disturbed_is_kept_and_costs_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, _ = measured_with(monkeypatch, [LOUD] * 7)
    assert repeated(measured) == [6, 0, 0, 0, 0]
    assert [(finding.guard, finding.severity) for finding in measured.findings] == [("load", "warn")]


def test_on_a_machine_that_is_simply_busy_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, waits = measured_with(monkeypatch, [LOUD] * 99)
    assert (repeated(measured), len(waits)) == ([6, 6, 0, 0, 0], 12)


def test_tier_quick_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, waits = measured_with(monkeypatch, [LOUD], tier="quick")
    assert (repeated(measured), waits) == ([0], [])

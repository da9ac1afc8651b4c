"""Others are at work: a session is measured again, after a while, and not for ever."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from robust_kbench import guards
from robust_kbench.devices import open_device
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import Tier
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing import measure as measuring
from robust_kbench.timing.measure import Measured, measure
from robust_kbench.timing.result import SessionResult

TIMED = Case(axes={"rows": 8, "cols": 8}, dtype="float32", seed=1, role="timed")
QUIET, LOUD = 0.01, 0.3
"""What others use of a core."""


def measured_with(
    monkeypatch: pytest.MonkeyPatch, loads: Sequence[float], tier: Tier = "full"
) -> tuple[Measured, list[float]]:
    """What comes of sessions with these loads, and then quiet ones; and how long was waited, each time."""
    left, waits = iter(loads), list[float]()

    class Session:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def run(self) -> SessionResult:
            return SessionResult({"candidate": [1000] * 9, "eager": [2000] * 9}, foreign_load=next(left, QUIET))

    monkeypatch.setattr(measuring, "TimingSession", Session)
    monkeypatch.setattr(measuring, "sleep", waits.append)
    task = load_task("norm/rmsnorm")
    with WarmPool() as pool:
        measured = measure(
            task.spec, [], [TIMED], tier,
            judge=Judge(task.spec, Reference(task)), pool=pool, device=open_device("cpu"), watch=Stopwatch(),
            progress=lambda *_: None, is_doubtful=guards.needs_confirmation,
        )  # fmt: skip
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

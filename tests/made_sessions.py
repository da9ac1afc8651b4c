"""Sessions that never took place: `measure` gets results that a test has thought out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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

TIMED = Case(axes={"rows": 96, "cols": 64}, dtype="float32", seed=1, role="timed")


def measured_in(
    monkeypatch: pytest.MonkeyPatch,
    tier: Tier,
    session: Callable[[], SessionResult] | type,
    measured: Measured | None = None,
) -> Measured:
    """Measure a single timed case of norm/rmsnorm. `session` is called for every session that is needed.

    `session` may be a stand-in for TimingSession; `measured` is handed on.
    """

    class Session:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def run(self, workers: object = None) -> SessionResult:
            return session()

    monkeypatch.setattr(measuring, "TimingSession", session if isinstance(session, type) else Session)
    task = load_task("norm/rmsnorm")
    with WarmPool() as pool:
        return measure(
            task.spec, [], [TIMED], tier,
            judge=Judge(task.spec, Reference(task)), pool=pool, device=open_device("cpu"), watch=Stopwatch(),
            progress=lambda *_: None, measured=measured,
        )  # fmt: skip

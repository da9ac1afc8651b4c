"""All sessions of all timed bindings of a submission, one machine-wide measurement at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from robust_kbench import machine_lock
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.verdict import Judge
from robust_kbench.progress import Progress
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import MAX_FOREIGN_LOAD, CaseResult, Tier, Timing
from robust_kbench.schema.task import Task
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing.plan import PLANS, Plan
from robust_kbench.timing.session import SessionResult, TimingSession

_PATIENCE = 2  # sessions that stay loaded however often they are repeated: the machine is simply busy
_REPEATS: dict[Tier, int] = {"quick": 0, "full": 2, "final": 2}
_CALL_TIMEOUT_S = 180.0  # a compiled baseline compiles during its first call


@dataclass
class Measured:
    """What timing has brought to light."""

    timings: list[Timing] = field(default_factory=list)
    results: list[CaseResult] = field(default_factory=list)
    seen: list[Observation] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    failure: str = ""
    loaded_sessions: int = 0


def measure(
    task: Task,
    contestants: Sequence[Contestant],
    cases: Sequence[Case],
    tier: Tier,
    *,
    judge: Judge,
    pool: WarmPool,
    device: Device,
    watch: Stopwatch,
    progress: Progress,
) -> Measured:
    """Measure every timed case. Stops at the first one on which the candidate fails."""
    measured = Measured()
    plan = PLANS[tier]
    # Tier quick spreads the distributions over the dtypes, the others check each on every timed case.
    step = len(cases) if tier == "quick" else 1
    arena = Arena(2 * device.cache_bytes + max(case_footprint(task, case) for case in cases))
    try:
        with machine_lock.quiet():
            for number, case in enumerate(cases):
                progress("timed bindings", number, len(cases))

                def session(case: Case = case, first: int = number % step) -> SessionResult:
                    return TimingSession(
                        task, case, contestants, plan,
                        judge=judge, pool=pool, device=device, arena=arena, watch=watch, timeout_s=_CALL_TIMEOUT_S,
                        distributions=task.distributions[first::step],
                    ).run()  # fmt: skip

                _measure_case(case, plan, _REPEATS[tier], session, measured)
                if measured.failure:
                    break
            progress("timed bindings", len(cases), len(cases))
        if measured.loaded_sessions:
            measured.findings.append(_busy_machine(measured.loaded_sessions))
    finally:
        arena.close()
    return measured


def _measure_case(case: Case, plan: Plan, repeats: int, run: Callable[[], SessionResult], measured: Measured) -> None:
    sessions = []
    for _ in range(plan.sessions):
        repeated = 0
        result = run()
        while _is_loaded(result) and repeated < repeats and measured.loaded_sessions < _PATIENCE:
            result, repeated = run(), repeated + 1
        measured.loaded_sessions += _is_loaded(result)
        measured.seen += result.seen
        measured.results += result.results
        measured.findings += result.findings
        if result.failure:
            measured.failure = f"{case}: {result.failure}"
            return
        sessions.append(result.as_record(repeated))
    measured.timings.append(Timing(axes=case.axes, dtype=case.dtype, sessions=tuple(sessions)))


def _is_loaded(result: SessionResult) -> bool:
    return result.foreign_load > MAX_FOREIGN_LOAD and not result.failure


def _busy_machine(sessions: int) -> Finding:
    message = f"other processes used more than {MAX_FOREIGN_LOAD:.0%} of a core during {sessions} sessions; not ranked"
    return Finding(guard="load", severity="warn", message=message)

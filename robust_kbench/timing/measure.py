"""All sessions of all timed bindings of a submission, one machine-wide measurement at a time."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import sleep

from robust_kbench import machine_lock
from robust_kbench.cases.bank import Bank
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.isolation.calling import open_arena
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.verdict import Judge
from robust_kbench.progress import Progress
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import MAX_FOREIGN_LOAD, CaseResult, Session, Tier, Timing
from robust_kbench.schema.task import Distribution, Task
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing import spot_checks
from robust_kbench.timing.plan import PLANS, Plan
from robust_kbench.timing.result import Clock, SessionResult
from robust_kbench.timing.session import TimingSession

_PATIENCE = 2  # sessions that stay loaded however often they are repeated: the machine is simply busy
_REPEATS: dict[Tier, int] = {"quick": 0, "full": 6, "final": 6}
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 16.0  # before a loaded session is repeated: others that come mostly go soon
_CONFIRMATIONS = 2  # sessions that may take the place of one in which the worker seemed to dawdle
_CALL_TIMEOUT_S = 180.0  # a compiled baseline compiles during its first call

Doubt = Callable[[Sequence[Observation]], bool]
"""Whether what was seen in a session must be confirmed by another one."""


@dataclass
class Measured:
    """What timing has brought to light."""

    timings: list[Timing] = field(default_factory=list)
    results: list[CaseResult] = field(default_factory=list)
    seen: list[Observation] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    clocks: set[Clock] = field(default_factory=set)
    failure: str = ""
    loaded_sessions: int = 0
    is_doubt_confirmed: bool = False


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
    is_doubtful: Doubt,
) -> Measured:
    """Measure every timed case. Stops at the first one on which the candidate fails."""
    measured = Measured()
    plan = PLANS[tier]
    dealt = secrets.randbelow(len(spot_checks.KINDS))  # nobody knows what is looked at in which case
    arena = open_arena(device, max(spot_checks.footprint(task, case) for case in cases), device.pool_bytes)
    try:
        with machine_lock.quiet():
            for number, case in enumerate(cases):
                progress("timed bindings", number, len(cases))
                bank = Bank(task, case, device.judging_place)

                def session(turn: int, case: Case = case, bank: Bank = bank, number: int = number) -> SessionResult:
                    return TimingSession(
                        task, case, contestants, plan,
                        judge=judge, bank=bank, pool=pool, device=device, arena=arena, watch=watch,
                        timeout_s=_CALL_TIMEOUT_S,
                        is_first=turn == 0,
                        distributions=_share(task.distributions, number + dealt, turn, tier, len(cases)),
                        spots=spot_checks.due(tier, number + dealt, turn, len(cases)),
                    ).run()  # fmt: skip

                _measure_case(case, plan, _REPEATS[tier], session, measured, is_doubtful)
                if measured.failure:
                    break
            progress("timed bindings", len(cases), len(cases))
        if measured.loaded_sessions:
            measured.findings.append(_busy_machine(measured.loaded_sessions))
    finally:
        arena.close()
    measured.findings = _distinct(measured.findings)
    return measured


def _share(
    distributions: Sequence[Distribution], number: int, turn: int, tier: Tier, cases: int
) -> Sequence[Distribution]:
    """The distributions that a session checks: those of a timed case are dealt out to its sessions.

    Tier quick has one session and deals them out to the timed cases, that is to the dtypes.
    """
    count = cases if tier == "quick" else PLANS[tier].sessions
    return distributions[((number if tier == "quick" else number + turn) % count) :: count]


def _measure_case(
    case: Case,
    plan: Plan,
    repeats: int,
    run: Callable[[int], SessionResult],
    measured: Measured,
    is_doubtful: Doubt,
) -> None:
    sessions: list[Session] = []
    logs: list[list[float]] = []
    while len(sessions) < plan.sessions or plan.wants_more(logs):
        result, repeated = _undisturbed(partial(run, len(sessions)), repeats, measured, is_doubtful)
        measured.loaded_sessions += _is_loaded(result)
        measured.findings += [_disturbed(result.disturbance)] if result.disturbance else []
        measured.seen += result.seen
        measured.results += result.results
        measured.findings += result.findings
        if result.failure:
            measured.failure = f"{case}: {result.failure}"
            return
        sessions.append(result.as_record(repeated))
        measured.clocks.add(result.clock)
        logs.append(result.logs())
    measured.timings.append(Timing(axes=case.axes, dtype=case.dtype, sessions=tuple(sessions)))


def _undisturbed(
    run: Callable[[], SessionResult], repeats: int, measured: Measured, is_doubtful: Doubt
) -> tuple[SessionResult, int]:
    """A session in which others did little, or the last of `repeats` that were all disturbed; and how many before it.

    Each waits twice as long as the one before it: one session that stays disturbed costs the whole run its rank.
    """
    result, repeated = _confirmed(run, measured, is_doubtful)
    wait_s = _FIRST_WAIT_S
    while _is_loaded(result) and repeated < repeats and measured.loaded_sessions < _PATIENCE:
        sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
        result, again = _confirmed(run, measured, is_doubtful)
        repeated += 1 + again
    return result, repeated


def _confirmed(run: Callable[[], SessionResult], measured: Measured, is_doubtful: Doubt) -> tuple[SessionResult, int]:
    """A session that is not doubtful, or the last of three that all are; and how many were thrown away before it.

    An honest worker may dawdle in one session, on a processor that others use. Who does so on purpose gains nothing
    from the sessions in which it does not: only those count. Once a doubt is confirmed, no further session is repeated.
    """
    result, repeated = run(), 0
    while not result.failure and not measured.is_doubt_confirmed and is_doubtful(result.seen):
        if repeated == _CONFIRMATIONS:
            measured.is_doubt_confirmed = True
        else:
            result, repeated = run(), repeated + 1
    return result, repeated


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    """One of those that say the same about other cases."""
    return list({(finding.guard, finding.message): finding for finding in reversed(findings)}.values())[::-1]


def _is_loaded(result: SessionResult) -> bool:
    return bool(result.foreign_load > MAX_FOREIGN_LOAD or result.disturbance) and not result.failure


def _disturbed(why: str) -> Finding:
    return Finding(guard="load", severity="warn", message=f"{why}; not ranked")


def _busy_machine(sessions: int) -> Finding:
    message = (
        f"others used more than {MAX_FOREIGN_LOAD:.0%} of a core, or the device, during {sessions} sessions; not ranked"
    )
    return Finding(guard="load", severity="warn", message=message)

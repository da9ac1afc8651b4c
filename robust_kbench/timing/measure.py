"""Measurement of a submission: all sessions of its timed bindings, one machine-wide measurement at a time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from time import sleep
from types import TracebackType
from typing import Self

from robust_kbench import machine_lock
from robust_kbench.cases.bank import Bank
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device, machine
from robust_kbench.errors import HarnessError
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.device_memory import says_short
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.verdict import Judge
from robust_kbench.progress import Progress
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import CANDIDATE, LOST_BASELINE, MAX_FOREIGN_LOAD, CaseResult, Session, Tier, Timing
from robust_kbench.schema.task import Task
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing import spot_checks, statistics
from robust_kbench.timing.calibration import is_resolved, resolution_us
from robust_kbench.timing.clock_drift import LEFT_BEHIND
from robust_kbench.timing.dealing import Deal
from robust_kbench.timing.opening import Opening
from robust_kbench.timing.plan import Plan, plan_for
from robust_kbench.timing.result import Clock, SessionResult
from robust_kbench.timing.session import TimingSession
from robust_kbench.timing.spending import Spending
from robust_kbench.timing.workers import Workers

_PATIENCE = 2  # sessions that stay loaded however often they are repeated: the machine is simply busy
_REPEATS: dict[Tier, int] = {"quick": 0, "full": 6, "final": 6}
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 16.0  # before a loaded session is repeated: others that come mostly go soon
_CONFIRMATIONS = 2  # sessions that may take the place of one in which a device's clock drifted
_MOST_SHARE, _BANK_FOOTPRINTS = 0.25, 12
"""Share of a device's memory for streams of values, and their size as a multiple of a call of the case."""
_DRAWING_THREADS, _MOST_DRAWN_BYTES = 16, 16 << 30
_QUANTILE = 2.8  # Student's, of five sessions
_CALL_TIMEOUT_S = 180.0  # a compiled baseline compiles during its first call


@dataclass
class Measured:
    """Results of timing: timings, judged cases, observations and findings."""

    timings: list[Timing] = field(default_factory=list)
    results: list[CaseResult] = field(default_factory=list)
    seen: list[Observation] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    clocks: set[Clock] = field(default_factory=set)
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
    opening: Opening | None = None,
    measured: Measured | None = None,
    spots: spot_checks.Schedule | None = None,
) -> Measured:
    """Measure every timed case. Stops at the first one on which the candidate fails.

    `opening`: workers that are open already, and the arena; it is closed. `measured`: gets the results, also the
    partial ones where an error is raised. `spots`: checks beside the samples, if they have been drawn.

    On a CUDA device, where a context takes longer to create than a session lasts, cases are measured in turn by the
    same workers.
    """
    measured = measured or Measured()
    plan = plan_for(tier, device.kind)
    distributions = Deal(task.distributions, len(cases), plan.sessions, is_single=tier == "quick")
    largest_call_bytes = max(spot_checks.footprint(task, case) for case in cases)
    spots = spots or schedule_spots(task, contestants, cases, tier, device)
    prepared = opening or Opening(task, contestants, cases, pool, device)
    spending = Spending()

    def session(number: int, bank: Bank, turn: int, former: SessionResult | None) -> TimingSession:
        return TimingSession(
            task, cases[number], contestants, plan,
            judge=judge, bank=bank, pool=pool, device=device, arenas=prepared.arenas, watch=watch,
            timeout_s=_CALL_TIMEOUT_S,
            is_first=turn == 0,
            former=former,
            distributions=distributions.of(number, turn),
            spots=spots.take(number, turn),
            largest_call_bytes=largest_call_bytes,
            spending=spending,
        )  # fmt: skip

    def bindings_of(group: Sequence[int]) -> list[_Binding]:
        banks = {number: _bank(task, cases[number], device) for number in group}
        return [_Binding(cases[number], plan, partial(session, number, bank)) for number, bank in banks.items()]

    groups = _groups(task, cases, device)
    begun = bindings_of(groups[0])
    if prepared.is_at_work:
        with machine_lock.busy():
            _draw_ahead([binding.begin() for binding in begun])
    prepared.wait()  # else it would be at work beside what is timed here, or in another evaluation
    with machine_lock.quiet(), closing(prepared):
        done = 0
        for group in groups:
            progress("timed bindings", done, len(cases))
            bindings, begun = begun or bindings_of(group), []
            _measure_together(bindings, prepared, _REPEATS[tier], measured, spending)
            if measured.failure or spending.is_over:
                break
            done += len(bindings)
        progress("timed bindings", len(cases), len(cases))
    if spending.is_over and not measured.failure:
        full = [timing for timing in measured.timings if len(timing.sessions) >= plan.sessions]
        timed = sum(all(session.stop != "slowness" for session in timing.sessions) for timing in full)
        measured.findings += [spending.finding(timed, len(cases))] if timed < len(cases) else []
    if measured.loaded_sessions:
        measured.findings.append(_busy_machine(measured.loaded_sessions))
    measured.findings = _distinct(measured.findings)
    return measured


def schedule_spots(
    task: Task, contestants: Sequence[Contestant], cases: Sequence[Case], tier: Tier, device: Device
) -> spot_checks.Schedule:
    """Draw the checks that `measure` makes beside the samples."""
    is_dense = any(each.name == CANDIDATE and each.abi == "c" for each in contestants)
    return spot_checks.Schedule(task, cases, tier, plan_for(tier, device.kind).sharing, dense=is_dense)


def _groups(task: Task, cases: Sequence[Case], device: Device) -> list[list[int]]:
    """Group the numbers of cases that the same workers measure: as many as there is room for streams of values."""
    if device.kind == "cpu":
        return [[number] for number in range(len(cases))]
    groups: list[list[int]] = [[]]
    left_bytes = room_bytes = int(_MOST_SHARE * (device.free_bytes() or 0))
    for number, case in enumerate(cases):
        bank_bytes = _BANK_FOOTPRINTS * case_footprint(task, case)
        if groups[-1] and bank_bytes > left_bytes:
            groups.append([])
            left_bytes = room_bytes
        groups[-1].append(number)
        left_bytes -= bank_bytes
    return groups


def _bank(task: Task, case: Case, device: Device) -> Bank:
    return Bank(task, case, device.judging_place)


@dataclass
class _Binding:
    """Timed case with the results of its sessions so far; `session` makes the session of a turn."""

    case: Case
    plan: Plan
    session: Callable[[int, SessionResult | None], TimingSession]
    sessions: list[Session] = field(default_factory=list)
    logs: list[list[float]] = field(default_factory=list)
    times_us: list[float] = field(default_factory=list)
    """Candidate's median in each session, in us."""
    fastest_us: list[float] = field(default_factory=list)
    """Fastest baseline's median in each session, in us."""
    resolutions_ns: list[int] = field(default_factory=list)
    """Resolution of each session's clock in ns, on a CUDA device."""
    clock: Clock = "judge"
    former: SessionResult | None = None
    """Result of the latest session; None before the first."""
    begun: TimingSession | None = None
    """Session that `next_session` will return, if it was begun ahead."""

    def begin(self) -> TimingSession:
        """Make the session of the next turn before that turn."""
        self.begun = self.next_session()
        return self.begun

    def next_session(self) -> TimingSession:
        """Return the session of the next turn, or of the same one anew."""
        begun, self.begun = self.begun, None
        return begun or self.session(len(self.sessions), self.former)

    @property
    def is_due(self) -> bool:
        """True if the binding needs one more session."""
        taken = len(self.sessions)
        if taken < self.plan.sessions:
            return True
        most = taken + self.plan.plus(taken)
        if self.clock != "judge" and not is_resolved(self._candidate_us, most, self._single_us):
            return False  # it will not be ranked, however well its sessions agree
        return self.plan.wants_more(self.logs, self._resolution)

    @property
    def _candidate_us(self) -> float:
        return statistics.median(self.times_us)

    @property
    def _resolution(self) -> float:
        """Half the width that the clock's differences between workers make, as a share of the ratio of two times."""
        if self.clock == "judge":
            return 0.0
        shares = [1 / statistics.median(times) for times in (self.times_us, self.fastest_us) if times]
        return _QUANTILE * resolution_us(len(self.sessions), self._single_us) * math.hypot(*shares)

    @property
    def _single_us(self) -> float:
        """Resolution of the clock in a single session, in us."""
        return statistics.median(self.resolutions_ns) / 1e3


def _measure_together(
    bindings: Sequence[_Binding],
    opening: Opening,
    repeats: int,
    measured: Measured,
    spending: Spending,
) -> None:
    """Run one session of each binding in turn, until none is due.

    All sessions of a turn have the same workers, if all goes well. Their order is random, as workers have done more and
    more as a turn goes on.
    """
    with _Shared(opening) as shared:
        while not spending.is_over and (due := [binding for binding in bindings if binding.is_due]):
            random.SystemRandom().shuffle(due)
            sessions = [binding.next_session() for binding in due]
            shared.begin_turn()
            if opening.is_shared:
                shared.start(sessions)
            for number, (binding, session) in enumerate(zip(due, sessions, strict=True)):
                if opening.is_shared and not shared.is_well and number + 1 < len(due):
                    shared.start(sessions[number:])
                _measure_once(binding, session, shared, repeats, measured)
                if measured.failure:
                    return
                if spending.is_over:
                    break
    measured.timings += [
        Timing(axes=binding.case.axes, dtype=binding.case.dtype, sessions=tuple(binding.sessions))
        for binding in bindings
        if binding.sessions
    ]


class _Shared:
    """Workers that serve all sessions of a turn, as long as each of them is alive and no session is repeated.

    A repeated session has workers of its own, and finds a device on which those before it have ended. The rest of the
    turn after that has other workers together.
    """

    def __init__(self, opening: Opening) -> None:
        """Serve sessions with the workers of `opening`, which has those of some turns open already."""
        self._opening = opening
        self.workers: Workers | None = None
        self._former: Workers | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin_turn(self) -> None:
        """Let others serve from now on. The workers of the last turn end when something else has to be waited for."""
        self._former, self.workers = self.workers, self._opening.take()

    @property
    def is_well(self) -> bool:
        """True if there are workers, all of which are alive."""
        return self.workers is not None and self.workers.are_well

    def start(self, sessions: Sequence[TimingSession]) -> None:
        """Have them load their artefacts, after each session has looked at the idle device, and draw values meanwhile.

        They start anew if they are not all alive.
        """
        self._end_former()
        is_spoilt = self._opening.arenas.is_spoilt
        if self.workers is not None and (is_spoilt or not self.workers.are_well):
            self.close()
        if is_spoilt:
            self._opening.renew_arenas()
        if self.workers is None:
            self.workers = self._opening.open_now([session.case for session in sessions])
        for session in sessions:
            session.look_at_the_idle_device()
        dtypes = list(dict.fromkeys(session.case.dtype for session in sessions))
        self.workers = sessions[0].start(self.workers, dtypes, meanwhile=partial(_draw_ahead, sessions))

    def run(self, session: TimingSession) -> SessionResult:
        """Run a session with these workers, or with its own where one of these has died."""
        self._end_former()
        if self.workers is not None and not self.workers.are_well:
            self.close()
        return session.run(self.workers)

    def make_room(self) -> bool:
        """Give back the device's memory that workers of later turns hold. False where there are none.

        A call may have found no memory because of them.
        """
        if not self._opening.has_ahead:
            return False
        self.close()
        return self._opening.give_up()

    def close(self) -> None:
        """End these workers, and those of the last turn."""
        workers, self.workers = self.workers, None
        try:
            if workers is not None:
                workers.close()
        finally:
            self._end_former()

    def _end_former(self) -> None:
        workers, self._former = self._former, None
        if workers is not None:
            workers.close()


def _draw_ahead(sessions: Sequence[TimingSession]) -> None:
    """Draw the values that these sessions check, beginning with the largest calls."""
    with ThreadPoolExecutor(_DRAWING_THREADS) as threads:
        for session in _within_room(sessions):
            session.draw_ahead(threads)


def _within_room(sessions: Sequence[TimingSession]) -> Iterator[TimingSession]:
    """Yield the sessions whose checked values together fit into a share of the memory; others draw theirs later."""
    left_bytes = min(_MOST_DRAWN_BYTES, int(_MOST_SHARE * machine.free_bytes()))
    for session in sorted(sessions, key=lambda session: -session.checked_bytes):  # else threads wait for the last
        left_bytes -= session.checked_bytes
        if left_bytes >= 0:
            yield session


def _measure_once(
    binding: _Binding,
    session: TimingSession,
    shared: _Shared,
    repeats: int,
    measured: Measured,
) -> None:
    left, short = [session], list[bool]()

    def run() -> SessionResult:
        is_shared = bool(left)
        if not is_shared:
            shared.close()
        session = left.pop() if is_shared else binding.next_session()
        try:
            result = shared.run(session) if is_shared else session.run()
        except Exception as error:
            _keep_facts(session.so_far, measured)
            if session.so_far.failure:  # an error of ours that comes after it does not undo it
                return session.so_far
            if says_short(str(error)) and shared.make_room():
                return repeat()
            raise
        if any(map(says_short, _complaints(result))) and shared.make_room():
            _keep_facts(result, measured)
            return repeat()
        return result

    def repeat() -> SessionResult:
        short.append(True)
        return run()

    result, repeated = _undisturbed(run, repeats, measured)
    measured.loaded_sessions += _is_loaded(result)
    measured.findings += [_disturbed(result.disturbance)] if result.disturbance else []
    measured.seen += result.seen
    measured.results += result.results
    measured.findings += result.findings
    if result.failure:
        measured.failure = f"{binding.case}: {result.failure}"
        return
    binding.sessions.append(result.as_record(repeated + len(short)))
    binding.logs.append(result.logs())
    binding.former, binding.clock = result, result.clock
    binding.times_us.append(statistics.median(result.times(CANDIDATE)) / 1e3)
    if result.resolution_ns is not None:
        binding.resolutions_ns.append(result.resolution_ns)
    if result.fastest is not None:
        binding.fastest_us.append(statistics.median(result.times(result.fastest)) / 1e3)
    measured.clocks.add(result.clock)


def _complaints(result: SessionResult) -> list[str]:
    """List the candidate's failure if it has failed, or else the messages about baselines that were left out."""
    lost = [found.message for found in result.findings if found.guard == LOST_BASELINE]
    return [result.failure] if result.failure else lost


def _undisturbed(run: Callable[[], SessionResult], repeats: int, measured: Measured) -> tuple[SessionResult, int]:
    """Return a session in which others did little, or the last of `repeats` disturbed ones; and the number before it.

    Each waits twice as long as the one before it: one session that stays disturbed costs the whole run its rank.
    """
    result, repeated = _on_a_steady_clock(run, measured)
    wait_s = _FIRST_WAIT_S
    while _is_loaded(result) and repeated < repeats and measured.loaded_sessions < _PATIENCE:
        sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
        _keep_facts(result, measured)
        result, again = _on_a_steady_clock(run, measured)
        repeated += 1 + again
    return result, repeated


def _on_a_steady_clock(run: Callable[[], SessionResult], measured: Measured) -> tuple[SessionResult, int]:
    """Return a session whose clock is steady, and the number of sessions that were thrown away before it.

    The candidate has failed if the clock was unsteady in three sessions in a row, and steady each time when the
    candidate was gone. Raises HarnessError if it was not.
    """
    is_steady_alone = True
    for repeated in range(1 + _CONFIRMATIONS):
        if repeated:
            sleep(2**repeated * _FIRST_WAIT_S)  # what disturbs a device by itself may be over then
        result = run()
        if not result.has_unsteady_clock:
            return result, repeated
        _keep_facts(result, measured)
        is_steady_alone &= result.is_steady_alone
    if is_steady_alone:
        result.failure = f"{LEFT_BEHIND}, in {1 + _CONFIRMATIONS} sessions in a row: {result.disturbance}"
        return result, _CONFIRMATIONS
    raise HarnessError(f"{result.disturbance}; use a device on which nobody else works")


def _keep_facts(thrown_away: SessionResult, measured: Measured) -> None:
    """Keep the calls of a session that does not count which speak against the candidate, independent of their times."""
    measured.seen += [
        seen
        for seen in thrown_away.seen
        if seen.changed_inputs or seen.overruns or seen.repetition or (seen.is_late and seen.clock is not None)
    ]


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    """Keep one of the findings that say the same about other cases."""
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

"""A device with streams, a host with threads, and a worker on them: enough to try what cheats the clocks, in no time.

All times are virtual nanoseconds. Streams run side by side without slowing each other down; the host queues work and
goes on. What a kernel computes is left out: these tests are about when it does so.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from specimens import make_case

from robust_kbench.schema.agreement import Activity, Audit, Calibration
from robust_kbench.schema.observation import Observation

US = 1_000
RECORD_NS, LAUNCH_NS, LATENCY_NS, SYNC_NS = 500, 4 * US, 2 * US, 5 * US
HOLD_NS, HANDSHAKE_NS, LINGER_NS, MARKER_NS = 260 * US, 8 * US, 5_000 * US, 2 * US


@dataclass(frozen=True)
class Problem:
    """One set of inputs: where it lies, and which values it holds.

    `queue` is what lies behind it in a batch. `is_warm`: no flush, and no other problem, came since it was uploaded.
    """

    address: int
    values: int
    queue: tuple[int, ...] = ()
    is_warm: bool = False


Action = Callable[["Machine"], None]
Kernel = Callable[["Machine", Problem], None]


@dataclass
class Machine:
    """The host's clock, the streams' ends, and what was done."""

    random: random.Random
    now_ns: int = 0
    ends: dict[int, int] = field(default_factory=lambda: {0: 0})
    activities: list[Activity] = field(default_factory=list)
    threads: int = 1
    memory_bytes: int = 1 << 30
    escaped_share: float = 0.0
    """Of a processor that a process uses which the judge's stop does not reach."""
    is_profiled: bool = False
    is_profiler_disabled: bool = False
    is_hold_skipped: bool = False
    at_arrival: Action = lambda _: None
    """What foreign code does when the next inputs arrive, before the clock."""
    forge: Callable[[str, int], int] = lambda _, value: value
    """What the worker makes of a time before it tells it: clock's name and value."""
    forge_audit: Callable[[Audit], Audit] = lambda audit: audit
    _held_until: int = 0
    _due: list[tuple[int, int, Action]] = field(default_factory=list)

    def spend(self, ns: float) -> None:
        """The host's first thread is busy; what other threads are due to do happens meanwhile."""
        until = self.now_ns + int(ns)
        while self._due and self._due[0][0] <= until:
            at, _, action = heapq.heappop(self._due)
            self.now_ns = max(self.now_ns, at)
            action(self)
        self.now_ns = max(self.now_ns, until)

    def later(self, ns: int, action: Action) -> None:
        """Another thread does something in `ns`."""
        heapq.heappush(self._due, (self.now_ns + ns, len(self._due), action))

    def launch(
        self, ns: float, *, stream: int = 0, name: str = "kernel", host_ns: int = LAUNCH_NS, is_seen: bool = True
    ) -> None:
        """Queue work on a stream."""
        self.spend(host_ns)
        start = max(self.now_ns + LATENCY_NS, self._held_until, self.ends.get(stream, 0))
        self.ends[stream] = start + int(ns * self.random.uniform(0.99, 1.01))
        if is_seen:
            self.activities.append(Activity("kernel", name, start, self.ends[stream], stream, (64, 1, 1), (256, 1, 1)))

    def hold(self) -> None:
        """Flush, and keep the whole device busy: no stream gets on meanwhile."""
        if not self.is_hold_skipped:
            self.launch(HOLD_NS, name="hold")
            self.ends = {stream: max(end, self.ends[0]) for stream, end in self.ends.items()}
            self._held_until = self.ends[0]

    def join(self, stream: int) -> None:
        """Stream 0 waits for `stream`."""
        self.ends[0] = max(self.ends[0], self.ends.get(stream, 0))

    def event(self) -> int:
        """When an event that is recorded now on stream 0 is passed."""
        self.spend(RECORD_NS)
        self.ends[0] = max(self.now_ns + LATENCY_NS, self.ends[0])
        return self.ends[0]

    def synchronize(self) -> None:
        """Wait for all streams, and for what is queued meanwhile."""
        while self.now_ns < max(self.ends.values()):
            self.spend(max(self.ends.values()) - self.now_ns)
        self.spend(SYNC_NS * self.random.uniform(1.0, 1.1))


@dataclass
class Worker:
    """What the worker of a CUDA device does around calls of `kernel`."""

    kernel: Kernel
    machine: Machine
    _values: int = 0

    def fresh(self) -> Problem:
        """A problem that was never seen."""
        self._values += 1
        return Problem(self.machine.random.getrandbits(40), self._values)

    def single(self, problem: Problem | None = None, *, profile: bool = False) -> Observation:
        """One call as it is scored, or under a profiler."""
        machine, problem = self.machine, problem or self.fresh()
        machine.spend(3_000 * US)  # the upload
        machine.synchronize()
        before, memory, machine.activities = machine.threads, machine.memory_bytes, []
        machine.is_profiled = profile
        machine.at_arrival(machine)
        machine.spend(200 * US)
        began = machine.now_ns
        if not profile:
            machine.hold()
        start = machine.event()
        if profile:
            machine.launch(MARKER_NS, name="marker")
        self.kernel(machine, problem)
        if profile:
            machine.launch(MARKER_NS, name="marker")
        stop = machine.event()
        host = machine.now_ns - began
        machine.synchronize()
        joined = machine.event()
        wall = machine.now_ns - began
        machine.spend(HANDSHAKE_NS)
        elapsed = machine.now_ns - began
        audit = self._audit() if profile else None
        return Observation(
            case=make_case(role="timed"),
            ending="returned",
            elapsed_ns=elapsed,
            event_ns=machine.forge("event", stop - start),
            join_ns=machine.forge("join", joined - start),
            wall_ns=machine.forge("wall", wall),
            host_ns=host,
            threads_before=before,
            threads_after=machine.threads,
            device_bytes_before=memory,
            device_bytes_after=machine.memory_bytes,
            audit=audit,
        )

    def _audit(self) -> Audit:
        machine = self.machine
        machine.spend(LINGER_NS)
        machine.synchronize()
        machine.is_profiled = False
        if machine.is_profiler_disabled:
            return Audit((), has_markers=False)
        first, second = (each for each in machine.activities if each.name == "marker")
        rest = tuple(each for each in machine.activities if each.name != "marker")
        return machine.forge_audit(Audit(rest, first.end_ns, second.start_ns))

    def batch(self, calls: int, *, problems: int, flush: bool) -> int:
        """Calls between one GO and one DONE; the judge's time."""
        machine = self.machine
        row = [self.fresh() for _ in range(problems)]
        machine.synchronize()
        began = machine.now_ns
        for number in range(calls):
            if flush:
                machine.hold()
            machine.event()
            problem = row[number % problems]
            behind = tuple(row[later % problems].values for later in range(number + 1, calls))
            is_warm = problems == 1 and not flush
            self.kernel(machine, Problem(problem.address, problem.values, behind, is_warm))
            machine.event()
        machine.synchronize()
        machine.spend(HANDSHAKE_NS)
        return machine.now_ns - began

    def probe(self) -> int:
        """A known piece of work in another worker's context, which shares the device with what is still running."""
        machine = self.machine
        machine.spend(50 * US)
        return 50 * US + min(50 * US, max(0, max(machine.ends.values()) - machine.now_ns + 50 * US))


def machine(seed: int = 0) -> Machine:
    """A machine on which nothing has happened."""
    return Machine(random.Random(seed))


def calibration(seed: int = 0) -> Calibration:
    """What an empty call costs on such a machine."""
    worker = Worker(lambda machine, _: machine.launch(MARKER_NS), machine(seed))
    calls = [worker.single() for _ in range(20)]
    return Calibration(
        event_ns=RECORD_NS,
        launch_ns=min(call.event_ns or 0 for call in calls),
        wall_gap_ns=_median(call.wall_ns for call in calls) - _median(call.event_ns for call in calls),
        join_gap_ns=_median(call.join_ns for call in calls) - _median(call.event_ns for call in calls),
        spread_ns=100,
    )


def _median(values: Iterable[int | None]) -> int:
    known = sorted(value for value in values if value is not None)
    return known[len(known) // 2]

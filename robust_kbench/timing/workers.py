"""Workers of a session, or of several: a fresh one for each contestant, and all of them closed at the end."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from robust_kbench.contestant import LOAD_TIMEOUT_S, Contestant
from robust_kbench.devices import Device, machine
from robust_kbench.errors import HarnessError, WorkerError
from robust_kbench.isolation.arena import Slots
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.isolation.protocol import Raised
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import CANDIDATE, EAGER
from robust_kbench.schema.task import FloatDType, Task
from robust_kbench.timing.arenas import Arenas
from robust_kbench.timing.rehearsal import rehearsal_of

_REHEARSAL_TIMEOUT_S = 180.0  # a compiled baseline compiles
_CACHE_LINE_BYTES, _MAX_PADDING_LINES = 64, 1 << 14  # a megabyte


class Workers:
    """Workers of sessions, by the names of their contestants."""

    def __init__(self, pool: WarmPool, device: Device, arenas: Arenas) -> None:
        self.failures: dict[str, WorkerError] = {}
        """Errors of the missing workers, which could not load."""
        self.constants_ns: dict[str, list[int]] = {}
        """Times of calls of nothing in each worker before it had loaded anything, by the judge's clock."""
        self.empty_events_ns: dict[str, list[int]] = {}
        """Times between two events around an empty kernel in eager PyTorch's worker, at the same time."""
        self._pool, self._device, self._arenas = pool, device, arenas
        self._random = random.SystemRandom()
        self._running: list[Worker] = []
        self._opened: list[tuple[Contestant, Worker]] = []
        self._prepared: set[str] = set()
        """Names of the contestants whose workers have loaded already."""
        self.called: dict[str, Worker] = {}
        self.loading_s: dict[str, float] = {}
        """Seconds in which each has loaded its artefacts, which runs code of theirs."""

    def open(self, contestants: Sequence[Contestant], dtypes: Sequence[FloatDType]) -> None:
        """Start a worker for every contestant, which opens a CUDA device but loads nothing. Raises our own errors.

        `dtypes`: those whose artefacts it will be able to load.

        The order is random: forked workers inherit one address layout, and the first must not always be the same.
        """
        order = self._random.sample(contestants, len(contestants))
        for contestant in order:
            contestant.warm_up(self._pool, self._device, dtypes[0])
        arenas = [self._arenas.of(contestant.name) for contestant in order]
        with ThreadPoolExecutor(self._device.starts_at_once) as threads:
            opened = [
                threads.submit(self._open, contestant, arena, dtypes)
                for contestant, arena in zip(order, arenas, strict=True)
            ]
        # Before any failure is looked at: none that runs may be left behind.
        self._running = [future.result() for future in opened if future.exception() is None]
        self._opened = [(contestant, future.result()) for contestant, future in zip(order, opened, strict=True)]

    def preparations(self, task: Task, cases: Sequence[Case], is_off: Callable[[], bool]) -> list[Callable[[], None]]:
        """List calls, each of which has a baseline load, and be called once for each of `cases` with zeros.

        They do nothing more as soon as `is_off`.

        All that it compiles and loads in first calls is there then. Several may run at once. Each raises WorkerError,
        or HarnessError where the baseline raises something: these workers are of no use then.
        """
        dtypes = list(dict.fromkeys(case.dtype for case in cases))
        calls = [rehearsal_of(task, case) for case in cases]

        def prepare(contestant: Contestant, worker: Worker) -> None:
            if is_off():
                return
            self._load(contestant, worker, dtypes, 0)
            self._prepared.add(contestant.name)
            for request in calls:
                if is_off():
                    return
                answer = worker.rehearse(request, spin=self._device.handshake == "spin", timeout_s=_REHEARSAL_TIMEOUT_S)
                if isinstance(answer, Raised):
                    raise HarnessError(f"{contestant.name} cannot be called with zeros: {answer}")

        baselines = [(contestant, worker) for contestant, worker in self._opened if contestant.name != CANDIDATE]
        return [partial(prepare, *each) for each in baselines]

    def load(
        self,
        dtypes: Sequence[FloatDType],
        heap_bytes: int,
        call_nothing: Callable[[Worker], list[int]] | None = None,
        events_around_nothing: Callable[[Worker], list[int]] | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Have all that are open load their artefacts of `dtypes`. Raises errors that are our own fault.

        `call_nothing` measures the constant in the clock of each, before anything is loaded; so does
        `events_around_nothing` for events, in eager PyTorch's worker. `meanwhile`: called after that, while they load.
        """
        self._arenas.wipe()
        if call_nothing is not None:
            self.constants_ns = {contestant.name: call_nothing(worker) for contestant, worker in self._opened}
        if events_around_nothing is not None:
            self.empty_events_ns = {
                contestant.name: events_around_nothing(worker)
                for contestant, worker in self._opened
                if contestant.name == EAGER
            }
        with ThreadPoolExecutor(self._device.starts_at_once) as threads:
            loaded = [
                (contestant.name, worker, threads.submit(self._load, contestant, worker, dtypes, heap_bytes))
                for contestant, worker in self._opened
                if contestant.name not in self._prepared
            ]
            meanwhile()
        prepared = {each.name: worker for each, worker in self._opened if each.name in self._prepared}
        self.called |= prepared
        # One that could not load is closed.
        self._running = [*prepared.values(), *(worker for _, worker, future in loaded if future.exception() is None)]
        for name, worker, future in loaded:
            try:
                future.result()
                self.called[name] = worker
            except WorkerError as error:
                self.failures[name] = error

    def _open(self, contestant: Contestant, arena: Slots, dtypes: Sequence[FloatDType]) -> Worker:
        worker = contestant.open(self._pool, arena, self._device, dtypes)
        if self._device.kind == "cpu":
            return worker
        try:  # without spinning: there are many at once, beside judges that have something to do
            worker.open(self._device.kind, spin=False, timeout_s=LOAD_TIMEOUT_S)
        except WorkerError as error:  # no code of a submission has run in it
            worker.close()
            raise HarnessError(f"a worker cannot open the device: {error}") from None
        return worker

    def _load(self, contestant: Contestant, worker: Worker, dtypes: Sequence[FloatDType], heap_bytes: int) -> None:
        started = time.monotonic()
        try:
            contestant.load(
                worker, self._device, dtypes,
                heap_bytes=heap_bytes,
                # Forked workers inherit one layout of addresses, which would be part of what every session finds.
                padding_bytes=_CACHE_LINE_BYTES * self._random.randrange(_MAX_PADDING_LINES),
            )  # fmt: skip
        finally:
            self.loading_s[contestant.name] = time.monotonic() - started

    def others_seconds(self) -> float:
        """Return the processor seconds of all other processes since boot where they are felt, to within clock ticks."""
        members = [pid for worker in self.called.values() for pid in worker.tree()]
        own = time.process_time() + sum(map(_processor_seconds, members))
        return machine.busy_seconds(self._device.felt_cores) - own

    def close(self) -> None:
        """Close all at once. Each takes a while to end, above all after use of a device; nothing is measured now."""
        for contestant, worker in self._opened:
            # What the candidate's worker has compiled would tell later ones how often it was timed.
            if worker in self._running and contestant.name != CANDIDATE:
                contestant.collect(worker, self._device)
        with ThreadPoolExecutor(max(1, len(self._running))) as threads:
            closing = [threads.submit(worker.close) for worker in self._running]
        self._running = []
        for contestant, worker in self._opened:
            if not worker.is_surely_gone:
                self._arenas.abandon(contestant.name)
        for future in closing:
            future.result()

    def kill(self) -> None:
        """Have all that are alive die, and calls that wait for one of them fail; `close` is still due."""
        with ThreadPoolExecutor(max(1, len(self._running))) as threads:
            list(threads.map(lambda worker: worker.kill(), self._running))

    @property
    def are_well(self) -> bool:
        """True if all that have loaded are alive."""
        return all(worker.is_alive() for worker in self.called.values())


def _processor_seconds(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b") ")[2].split()
    except OSError:
        return 0.0
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")

"""Workers of one contestant: one for each artefact and lane, started when needed and replaced when they die."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_kbench.cases.values import Inputs
from robust_kbench.checking import undefined
from robust_kbench.checking.room import Room
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.emulation import Mode
from robust_kbench.errors import HarnessError, WorkerCrashed, WorkerTimedOut
from robust_kbench.isolation.arena import Slots
from robust_kbench.isolation.calling import open_arena, open_caller
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.device_memory import is_short, says_short, take_too_much
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.isolation.use import PLAIN, Use
from robust_kbench.languages import cuda
from robust_kbench.languages.built import Built
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.task import FloatDType, Task
from robust_kbench.stopwatch import Stopwatch

if TYPE_CHECKING:
    from robust_kbench.isolation.device_calls import Aside

_ROOM = 2  # an arena of twice the size that a call needs, so that no address is foretold
_LONGEST_STARTS_S = 20.0
_MOST_ENDED = 4
"""Number of times that the judge may end the worker of one call: after each but the last the call is made anew."""


class _EndedByTheJudge(Exception):
    """End of a worker for the sake of other calls than its own, which says nothing about the submission."""


class Crew:
    """Workers that call a contestant's kernels. Every dtype and every lane has its own; all share one arena.

    `memory_bytes`: for calls that take more than others do; their arena has no room to spare. `aside`: entered while a
    worker is waited for, so that another thread may call another one meanwhile.
    """

    def __init__(
        self,
        task: Task,
        contestant: Contestant,
        pool: WarmPool,
        device: Device,
        timeout_s: float,
        watch: Stopwatch,
        memory_bytes: int = 0,
        aside: Aside = nullcontext,
        room: Room | None = None,
    ) -> None:
        """Start without workers. `room` is shared with the other crews of the same contestant."""
        self._room = room or Room()
        self._room.crews.append(self)
        self._task, self._contestant, self._pool, self._device, self._watch = task, contestant, pool, device, watch
        self._timeout_s, self._memory_bytes, self._aside = timeout_s, memory_bytes, aside
        self._workers: dict[tuple[FloatDType, Path, int], Worker] = {}
        self._rooms_bytes: dict[tuple[FloatDType, Path, int], int] = {}
        self._called: list[Worker] = []
        """Workers that some thread is calling at the moment."""
        self._this_thread = threading.local()
        self._arena: Slots | None = None
        self._room_bytes = 0
        self.layers: tuple[str, ...] = ()
        """Layers of the sandbox around the latest worker."""

    def take_lane(self, number: int) -> None:
        """Have this thread call workers of its own from now on; they stay when it ends."""
        self._this_thread.lane = number

    @property
    def _lane(self) -> int:
        return int(getattr(self._this_thread, "lane", 0))

    def reserve(self, size_bytes: int) -> None:
        """Make room for calls that need `size_bytes`. Workers that have less start anew when they are called."""
        if self._arena is None or self._room_bytes < size_bytes:
            if self._arena is not None and self._device.kind == "cuda":
                arena, self._arena = self._arena, None
                arena.close()  # which no worker maps
            else:
                self.close()
            spare_bytes = 0 if self._memory_bytes else (_ROOM - 1) * size_bytes
            self._arena, self._room_bytes = self._opened_arena(size_bytes, spare_bytes), size_bytes + spare_bytes

    def _opened_arena(self, size_bytes: int, spare_bytes: int) -> Slots:
        try:
            return open_arena(self._device, size_bytes, spare_bytes)
        except (RuntimeError, HarnessError):  # of PyTorch, or of the driver
            if self._device.kind == "cpu" or not self._room.make_room():
                raise
        return open_arena(self._device, size_bytes, spare_bytes)

    @property
    def is_on_a_device(self) -> bool:
        """Tell if kernels run on a CUDA device."""
        return self._device.kind == "cuda"

    def call(self, case: Case, inputs: Inputs, built: Built, mode: Mode | None, use: Use = PLAIN) -> Observation:
        """Make one call of `built`, or as `use` says; a worker that did not survive it is gone.

        Raises Unsupported, or HarnessError.

        The call is made again if another thread has ended its worker, in search of the device's memory. If that is
        short, and no worker is to blame, it is made again alone: without workers that are opened for later, and without
        any other.
        """
        ended = 0
        while True:
            is_alone = self._room.is_short
            try:
                seen = self._call(case, inputs, built, mode, use)
                if is_alone or not self._lacks_memory(seen):
                    return seen
            except _EndedByTheJudge:
                ended += 1
                if ended == _MOST_ENDED:
                    problem = f"its worker was ended {ended} times, in search of the device's memory"
                    raise HarnessError(f"{case}: {problem}") from None
                continue
            except (RuntimeError, HarnessError) as error:  # of PyTorch, of the driver, or of a worker without a context
                if self._device.kind == "cpu" or not is_short(case_footprint(self._task, case)):
                    raise
                if self._room.make_room():
                    self._drop(case.dtype, built.path, self._lane)  # it may wait for a gate that never opens
                    continue
                if (blamed := self._who_keeps_the_memory(case, built)) is not None:
                    return blamed
                if is_alone:
                    problem = f"the device has too little memory to judge this case on: {error}"
                    raise HarnessError(f"{case}: {problem}") from None
            self._room.make_room()
            self._wait_for_starts()
            self._room.run_short()

    def _wait_for_starts(self) -> None:
        """Let other threads go on until none is starting a worker, which could not be ended.

        Where memory is known to be short already, no thread goes on beside another, and none is starting a worker.
        """
        deadline = time.monotonic() + _LONGEST_STARTS_S
        while self._room.starting and not self._room.is_short and time.monotonic() < deadline:
            with self._aside():
                time.sleep(0.01)

    def _lacks_memory(self, seen: Observation) -> bool:
        """Tell if a kernel says that it has found no memory on a device. Other workers of ours may have had it."""
        is_lost = seen.ending in ("raised", "crashed")
        return self._device.kind == "cuda" and is_lost and says_short(f"{seen.message} {seen.log}")

    def _call(self, case: Case, inputs: Inputs, built: Built, mode: Mode | None, use: Use) -> Observation:
        needed_bytes = use.room * case_footprint(self._task, case)
        self.reserve(needed_bytes)
        assert self._arena is not None
        if self._room.is_short:
            self._room.clear(but=self._workers.get((case.dtype, built.path, self._lane)))
        try:
            worker = self._worker(case, built, self._arena, needed_bytes)
        except WorkerTimedOut as error:
            return Observation(case, "timed_out", f"{error} (import)", error.log)
        except WorkerCrashed as error:
            return Observation(case, "crashed", str(error), error.log)
        self.layers = worker.layers
        caller = open_caller(self._device, self._task, self._arena, timeout_s=self._timeout_s, aside=self._aside)
        special: dict[str, Any] = {"use": use} if mode is None else {"emulation": mode}
        self._called.append(worker)
        try:
            self._contestant.exchange(worker, self._device)
            seen = caller.call(worker, self._contestant.abi, case, inputs, **special)
        finally:
            self._called.remove(worker)
        self._contestant.collect(worker, self._device)
        self._watch.add("kernels", seen.elapsed_ns / 1e9)
        # A worker without the emulator has nothing to report: `unsupported` in a forged answer would be a way out.
        if seen.reports and built.execution == "emulated":
            defects = cuda.defects(seen.reports, built, self._contestant.submission)
            undefined.raise_unsupported(defects)
            seen = replace(seen, defects=defects)
        if seen.ending in ("crashed", "timed_out") or seen.defects:
            self._drop(case.dtype, built.path, self._lane)
        if seen.ending == "crashed" and worker.is_suspect:
            raise _EndedByTheJudge
        return seen

    def _who_keeps_the_memory(self, case: Case, built: Built) -> Observation | None:
        """Blame the workers if they keep the device's memory from the judge; they die by that.

        Other threads may be waiting for some of them, and make their calls again.
        """
        workers = self._room.workers
        log = "\n".join(worker.log for worker in workers)
        problem = take_too_much(workers, case_footprint(self._task, case))
        self._drop(case.dtype, built.path, self._lane)
        return Observation(case, "crashed", problem, log) if problem else None

    @property
    def workers(self) -> list[Worker]:
        """Workers of all dtypes and lanes."""
        return list(self._workers.values())

    def end_others(self, but: Worker | None = None) -> None:
        """End all workers but one. Calls that other threads are making die with theirs, and are made again."""
        for key, worker in list(self._workers.items()):
            if worker in self._called and worker is not but:
                worker.is_suspect = True
                worker.kill()  # the thread that calls it closes it
            elif worker is not but:
                self._drop(*key)

    def has_worker(self, dtype: FloatDType) -> bool:
        """Tell if any worker of `dtype` is alive in the lane of this thread."""
        return any((own, lane) == (dtype, self._lane) for own, _, lane in list(self._workers))

    def close(self) -> None:
        """End all workers and give the arena back."""
        with ThreadPoolExecutor(max(1, len(self._workers))) as threads:  # each takes a while to end
            list(threads.map(lambda key: self._drop(*key), list(self._workers)))
        if self._arena is not None:
            self._arena.close()
            self._arena = None

    def _worker(self, case: Case, built: Built, arena: Slots, needed_bytes: int) -> Worker:
        dtype = case.dtype
        key = dtype, built.path, self._lane
        worker = self._workers.get(key)
        if worker is not None and self._rooms_bytes[key] < needed_bytes:
            self._drop(*key)
            worker = None
        if worker is None:
            room_bytes = self._room_bytes
            own = arena.for_a_worker()  # what an earlier worker left running on a device must not reach it
            self._room.starting += 1
            try:
                with self._aside():
                    worker = self._contestant.start(
                        self._pool, own, self._device, dtype, built, self._memory_bytes, few_queues=True
                    )
            except BaseException:
                if own is not arena:
                    own.close()
                raise
            finally:
                self._room.starting -= 1
            self._workers[key], self._rooms_bytes[key] = worker, room_bytes
        return worker

    def _drop(self, dtype: FloatDType, path: Path, lane: int) -> None:
        if (worker := self._workers.pop((dtype, path, lane), None)) is not None:
            self._contestant.collect(worker, self._device)
            with suppress(OSError):
                worker.close()
            if worker.arena is not self._arena:
                worker.arena.close()

"""Workers that open their CUDA device while a submission is still being checked; they have loaded nothing of it.

Baselines, which are sources of ours, have loaded all and been called by then.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.isolation.arena import Slots
from robust_kbench.isolation.calling import CONTEXT_BYTES, open_arena
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Task
from robust_kbench.timing import spot_checks
from robust_kbench.timing.workers import Workers

SHARE_BESIDE_MANY, SHARE_BESIDE_FEW = 0.4, 0.6
"""Of the device's free memory: beside many workers that compile and check, and beside few (see checking)."""
_SHARE_TO_PREPARE, _FOOTPRINTS_OF_A_CALL = 0.1, 6
"""Share of the device's memory for calls ahead, and how many times what it takes and returns a baseline may need."""


class Opening:
    """The arena of all timed calls, and the workers of the first turns, as far as memory allows."""

    def __init__(
        self,
        task: Task,
        contestants: Sequence[Contestant],
        cases: Sequence[Case],
        pool: WarmPool,
        device: Device,
        *,
        turns_ahead: int = 0,
        share: float = SHARE_BESIDE_MANY,
    ) -> None:
        """`turns_ahead`: begin to open the workers of so many turns now, in a thread, in a `share` of the memory."""
        self._contestants, self._pool, self._device = contestants, pool, device
        self._task, self._cases = task, cases
        self._dtypes = list(dict.fromkeys(case.dtype for case in cases))
        size_bytes = max(spot_checks.footprint(task, case) for case in cases)
        self.arena: Slots = open_arena(device, size_bytes, device.pool_bytes)
        self._is_closed = self._is_stopped = False
        self._workers: list[Workers] = []
        self._thread: threading.Thread | None = None
        if turns_ahead and device.kind == "cuda":
            for contestant in contestants:  # in this thread: a warm process dies with the one that has started it
                contestant.warm_up(pool, device, self._dtypes[0])
            share_bytes = int(share * (device.free_bytes() or 0))
            most = share_bytes // (len(contestants) * (self.arena.size_bytes + CONTEXT_BYTES))
            self._thread = threading.Thread(target=self._open, args=(min(turns_ahead, most),), daemon=True)
            self._thread.start()

    @property
    def is_shared(self) -> bool:
        """Tell if workers serve all sessions of a turn: those of a CUDA device take longer to open than a session."""
        return self._device.kind == "cuda"

    def take(self) -> Workers | None:
        """Workers that are open, for one turn; the caller closes them. None where there are none."""
        self._wait()
        return self._workers.pop(0) if self._workers else None

    def close(self) -> None:
        """End the workers that nobody has taken, and give the arena back. May be called twice."""
        self._is_stopped = True
        self._wait()
        for workers in self._workers:
            workers.close()
        self._workers.clear()
        if not self._is_closed:
            self._is_closed = True
            self.arena.close()

    def _wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def open_now(self, cases: Sequence[Case]) -> Workers | None:
        """Open workers for `cases` while nothing is timed. None where they cannot be: who needs them says why."""
        workers = self._opened()
        return next(iter(self._prepared([workers], cases)), None) if workers is not None else None

    def _open(self, turns: int) -> None:
        opened: list[Workers] = []
        while len(opened) < turns and not self._is_stopped and (workers := self._opened()) is not None:
            opened.append(workers)
        self._workers = self._prepared(opened, self._cases)

    def _opened(self) -> Workers | None:
        workers = Workers(self._pool, self._device, self.arena)
        with ExitStack() as stack:
            stack.callback(workers.close)
            with suppress(Exception):
                workers.open(self._contestants, self._dtypes)
                stack.pop_all()
                return workers
        return None

    def _prepared(self, turns: Sequence[Workers], cases: Sequence[Case]) -> list[Workers]:
        """Have baselines of several turns load and be called, side by side; those of turns in which all could be."""
        with ThreadPoolExecutor(self._calls_at_once()) as threads:
            begun = [
                [threads.submit(each) for each in workers.preparations(self._task, cases, lambda: self._is_stopped)]
                for workers in turns
            ]
        are_done = [not any(each.exception() for each in preparations) for preparations in begun]
        for workers, is_done in zip(turns, are_done, strict=True):
            if not is_done:
                workers.close()
        return [workers for workers, is_done in zip(turns, are_done, strict=True) if is_done]

    def _calls_at_once(self) -> int:
        """Number of baselines that a share of the device's memory is enough for, and that have a core."""
        call_bytes = _FOOTPRINTS_OF_A_CALL * max(case_footprint(self._task, case) for case in self._cases)
        room_bytes = int(_SHARE_TO_PREPARE * (self._device.free_bytes() or 0))
        return max(1, min(len(os.sched_getaffinity(0)), room_bytes // call_bytes))

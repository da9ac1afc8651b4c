"""Workers that open their CUDA device while a submission is still being checked; they have loaded nothing of it.

Baselines, which are sources of ours, have loaded all and been called by then.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial

from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.isolation.arena import Slots
from robust_kbench.isolation.calling import open_arena
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Task
from robust_kbench.timing import spot_checks
from robust_kbench.timing.workers import Workers

_MOST_SHARE = 0.5
_CONTEXT_BYTES = 600 << 20
_AT_ONCE = 2
_SHARE_TO_PREPARE, _FOOTPRINTS_OF_A_CALL = 0.25, 6
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
    ) -> None:
        """`turns_ahead`: begin to open the workers of so many turns now, in a thread."""
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
            share_bytes = int(_MOST_SHARE * (device.free_bytes() or 0))
            most = share_bytes // (len(contestants) * (self.arena.size_bytes + _CONTEXT_BYTES))
            self._thread = threading.Thread(target=self._open, args=(min(turns_ahead, most),), daemon=True)
            self._thread.start()

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

    def _open(self, turns: int) -> None:
        for _ in range(turns):
            if self._is_stopped:
                return
            workers = Workers(self._pool, self._device, self.arena)
            # Few at once: the driver creates one context after the other, and whoever checks is waited for.
            if not self._succeeds(workers, partial(workers.open, self._contestants, self._dtypes, _AT_ONCE)):
                break
            self._workers.append(workers)
        if self._workers and self._has_room_to_prepare():
            opened, self._workers = self._workers, []
            for some in (opened[:1], opened[1:]):  # the first ones compile what the others find compiled
                with ThreadPoolExecutor(len(opened)) as threads:
                    prepared = list(threads.map(self._prepare, some))
                self._workers += [workers for workers, is_done in zip(some, prepared, strict=True) if is_done]

    def _prepare(self, workers: Workers) -> bool:
        return self._succeeds(workers, partial(workers.prepare, self._task, self._cases, lambda: self._is_stopped))

    def _succeeds(self, workers: Workers, action: Callable[[], None]) -> bool:
        """Tell if it does; else the workers are closed, and the session that needs them tries again and says why."""
        with ExitStack() as stack:
            stack.callback(workers.close)
            with suppress(Exception):
                action()
                stack.pop_all()
                return True
        return False

    def _has_room_to_prepare(self) -> bool:
        """Tell if all baselines of all turns could be called at once, beside whoever checks."""
        most_bytes = max(case_footprint(self._task, case) for case in self._cases)
        at_once = len(self._workers) * (len(self._contestants) - 1)
        return at_once * _FOOTPRINTS_OF_A_CALL * most_bytes <= _SHARE_TO_PREPARE * (self._device.free_bytes() or 0)

"""Workers that open their CUDA device while a submission is still being checked; they have loaded nothing of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress

from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.isolation.arena import Slots
from robust_kbench.isolation.calling import open_arena
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import FloatDType, Task
from robust_kbench.timing import spot_checks
from robust_kbench.timing.workers import Workers

_MOST_SHARE = 0.25


class Opening:
    """The arena of all timed calls, and the workers of the first session of each dtype, as far as memory allows."""

    def __init__(
        self,
        task: Task,
        contestants: Sequence[Contestant],
        cases: Sequence[Case],
        pool: WarmPool,
        device: Device,
        *,
        is_ahead: bool = False,
    ) -> None:
        """`is_ahead`: begin to open workers now, in a thread. Else the arena is all that there is."""
        self._contestants, self._pool, self._device = contestants, pool, device
        size_bytes = max(spot_checks.footprint(task, case) for case in cases)
        self.arena: Slots = open_arena(device, size_bytes, device.pool_bytes)
        self._is_closed = False
        self._workers: dict[FloatDType, Workers] = {}
        self._thread: threading.Thread | None = None
        if is_ahead and device.kind == "cuda":
            dtypes = list(dict.fromkeys(case.dtype for case in cases))
            for dtype in dtypes:  # in this thread: a warm process dies with the one that has started it
                for contestant in contestants:
                    contestant.warm_up(pool, device, dtype)
            share_bytes = int(_MOST_SHARE * (device.free_bytes() or 0))
            most = share_bytes // (len(contestants) * self.arena.size_bytes)
            self._thread = threading.Thread(target=self._open, args=(dtypes[:most],), daemon=True)
            self._thread.start()

    def take(self, dtype: FloatDType) -> Workers | None:
        """Workers of `dtype` that are open, for one session; the caller closes them. None where there are none."""
        self._wait()
        return self._workers.pop(dtype, None)

    def close(self) -> None:
        """End the workers that nobody has taken, and give the arena back. May be called twice."""
        self._wait()
        for workers in self._workers.values():
            workers.close()
        self._workers.clear()
        if not self._is_closed:
            self._is_closed = True
            self.arena.close()

    def _wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _open(self, dtypes: Sequence[FloatDType]) -> None:
        for dtype in dtypes:
            workers = Workers(self._pool, self._device, self.arena)
            with ExitStack() as stack:
                stack.callback(workers.close)
                with suppress(Exception):  # the session that needs them tries again, and says why it fails
                    workers.open(self._contestants, dtype)
                    stack.pop_all()
                    self._workers[dtype] = workers
            if dtype not in self._workers:
                return

"""Workers that open their CUDA device while a submission is still being checked; they have loaded nothing of it.

Baselines, which are sources of ours, have loaded all and been called by then.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, suppress

from robust_kbench import machine_lock
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device, machine, shares
from robust_kbench.isolation.calling import CONTEXT_BYTES, open_arena
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Task
from robust_kbench.timing import spot_checks
from robust_kbench.timing.arenas import Arenas
from robust_kbench.timing.workers import Workers

_FOOTPRINTS_OF_A_CALL = 6
"""How many times what it takes and returns a baseline may need."""
_HOST_BYTES_OF_A_CALL = 3 << 30
"""Memory of the host that a baseline may need, which may compile."""


class Opening:
    """The arenas of all timed calls, and the workers of the first turns, as far as memory allows.

    What is opened ahead can be given up at any time, see `give_up`: whoever needs it later opens it then.
    """

    def __init__(
        self,
        task: Task,
        contestants: Sequence[Contestant],
        cases: Sequence[Case],
        pool: WarmPool,
        device: Device,
        *,
        turns_ahead: int = 0,
        share: float = shares.OPENING_BESIDE_MANY,
    ) -> None:
        """`turns_ahead`: begin to open the workers of so many turns now, in a thread, in a `share` of the memory."""
        self._contestants, self._pool, self._device = contestants, pool, device
        self._task, self._cases = task, cases
        self._dtypes = list(dict.fromkeys(case.dtype for case in cases))
        size_bytes = max(spot_checks.footprint(task, case) for case in cases)
        self.arenas = Arenas(open_arena(device, size_bytes, device.pool_bytes))
        self._is_closed = self._is_given_up = self._cannot_prepare = False
        self._ahead: list[Workers] = []
        """Those that are opened ahead and that nobody has taken, prepared or not."""
        self._thread: threading.Thread | None = None
        self._giving_up = threading.Lock()
        if turns_ahead and device.kind == "cuda":
            for contestant in contestants:  # in this thread: a warm process dies with the one that has started it
                contestant.warm_up(pool, device, self._dtypes[0])
            turns = min(turns_ahead, self._most_turns(share))
            self._thread = threading.Thread(target=self._open_ahead, args=(turns,), daemon=True)
            self._thread.start()

    @property
    def is_shared(self) -> bool:
        """Tell if workers serve all sessions of a turn: those of a CUDA device take longer to open than a session."""
        return self._device.kind == "cuda"

    def wait(self) -> None:
        """Wait until nothing is being opened or called ahead. Due before anything is timed."""
        if self._thread is not None:
            self._thread.join()

    @property
    def is_at_work(self) -> bool:
        """Tell if workers are being opened ahead, or called."""
        return self._thread is not None and self._thread.is_alive()

    def take(self) -> Workers | None:
        """Workers that are open, for one turn; the caller closes them. None where there are none."""
        self.wait()
        return self._ahead.pop(0) if self._ahead else None

    @property
    def has_ahead(self) -> bool:
        """Tell if workers of later turns are open."""
        return bool(self._ahead)

    def give_up(self) -> bool:
        """Give back all of the device's memory that is held for later turns. False where there is none.

        Any thread may ask, as long as nothing is timed, and no worker that was taken is alive.
        """
        with self._giving_up:
            return self._give_up()

    def _give_up(self) -> bool:
        if self._is_given_up:
            return False
        has_any = bool(self._ahead or len(self.arenas)) or self.is_at_work
        self._is_given_up = True
        for workers in list(self._ahead):
            workers.kill()  # or their calls would have to be waited for
        self.wait()
        ahead, self._ahead = self._ahead, []
        for workers in ahead:
            workers.close()
        self.arenas.close()
        return has_any

    def renew_arenas(self) -> None:
        """Have workers map other arenas from now on, where something may still write to one of the present ones."""
        self.give_up()
        self.arenas.is_spoilt = False

    def close(self) -> None:
        """End the workers that nobody has taken, and give the arenas back. May be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        self.give_up()
        self.arenas.close()
        self.arenas.common.close()

    def open_now(self, cases: Sequence[Case]) -> Workers | None:
        """Open workers for `cases` while nothing is timed. None where they cannot be: who needs them says why."""
        with ThreadPoolExecutor(self._calls_at_once()) as threads:
            workers = self._opened()
            if workers is None or self._cannot_prepare:
                return workers
            if self._prepare(workers, cases, threads, is_off=lambda: False)():
                return workers
        workers.close()
        self._cannot_prepare = True  # a call that hangs would cost as much in each turn
        return None

    def _most_turns(self, share: float) -> int:
        """Count the turns whose workers a share of the device's free memory holds; all have the same arenas."""
        room_bytes = int(share * (self._device.free_bytes() or 0))
        room_bytes -= len(self._contestants) * self.arenas.common.size_bytes
        return max(0, room_bytes) // (len(self._contestants) * CONTEXT_BYTES)

    def _open_ahead(self, turns: int) -> None:
        with (
            machine_lock.busy(),  # others may be timing
            ThreadPoolExecutor(self._calls_at_once()) as threads,
        ):
            opened = []
            for _ in range(turns):
                if self._is_given_up or (workers := self._opened()) is None:
                    break
                self._ahead.append(workers)
                # The driver opens one device after the other: baselines of the first turns compile meanwhile.
                opened.append((workers, self._prepare(workers, self._cases, threads, lambda: self._is_given_up)))
            for workers, is_prepared in opened:
                if not is_prepared():
                    self._ahead.remove(workers)
                    workers.close()

    def _opened(self) -> Workers | None:
        workers = Workers(self._pool, self._device, self.arenas)
        with ExitStack() as stack:
            stack.callback(workers.close)
            with suppress(Exception):
                workers.open(self._contestants, self._dtypes)
                stack.pop_all()
                return workers
        return None

    def _prepare(
        self, workers: Workers, cases: Sequence[Case], threads: Executor, is_off: Callable[[], bool]
    ) -> Callable[[], bool]:
        """Have baselines load and be called in `threads`. Returns a function that waits, and tells if all could be."""
        try:
            begun = [threads.submit(call) for call in workers.preparations(self._task, cases, is_off)]
        except Exception:
            return lambda: False
        return lambda: (
            not any([call.exception() for call in begun])
        )  # a list: all have to end before workers are closed

    def _calls_at_once(self) -> int:
        """Number of baselines that have a core, and that memory is enough for."""
        call_bytes = _FOOTPRINTS_OF_A_CALL * max(case_footprint(self._task, case) for case in self._cases)
        room_bytes = int(shares.PREPARING * (self._device.free_bytes() or 0))
        on_the_host = machine.free_bytes() // _HOST_BYTES_OF_A_CALL
        return max(1, min(len(os.sched_getaffinity(0)), room_bytes // call_bytes, on_the_host))

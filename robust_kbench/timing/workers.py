"""The workers of one session: a fresh one for each contestant, and all of them closed at its end."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device, machine
from robust_kbench.errors import WorkerError
from robust_kbench.isolation.arena import Slots
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.schema.task import FloatDType

_CACHE_LINE_BYTES, _MAX_PADDING_LINES = 64, 1 << 14  # a megabyte


class Workers:
    """By the names of their contestants. One that is dropped lives on until `close`, but is not to be called."""

    def __init__(self, pool: WarmPool, device: Device, arena: Slots) -> None:
        """`arena`: what workers on the cpu device share; on a CUDA device each has one like it."""
        self._pool, self._device, self._arena = pool, device, arena
        self._own: list[Slots] = []
        self._random = random.SystemRandom()
        self._running: list[Worker] = []
        self._called: dict[str, Worker] = {}

    def start(self, contestants: Sequence[Contestant], dtype: FloatDType, heap_bytes: int) -> dict[str, WorkerError]:
        """Start everybody's, and tell whose did not start, and why. Raises what is our own fault, once all others run.

        In random order: forked workers inherit one address layout, and the first must not always be the same.
        """
        order = self._random.sample(contestants, len(contestants))
        for contestant in order:  # in this thread: a warm process dies with the one that has started it
            contestant.warm_up(self._pool, self._device, dtype)
        arenas = [self._arena.for_a_worker() for _ in order]
        self._own = [arena for arena in arenas if arena is not self._arena]
        with ThreadPoolExecutor(self._device.starts_at_once) as threads:
            started = [
                threads.submit(self._start, contestant, arena, dtype, heap_bytes)
                for contestant, arena in zip(order, arenas, strict=True)
            ]
        # Before any failure is looked at: none that runs may be left behind.
        self._running = [future.result() for future in started if future.exception() is None]
        failures = {}
        for contestant, future in zip(order, started, strict=True):
            try:
                self._called[contestant.name] = future.result()
            except WorkerError as error:
                failures[contestant.name] = error
        return failures

    def _start(self, contestant: Contestant, arena: Slots, dtype: FloatDType, heap_bytes: int) -> Worker:
        return contestant.start(
            self._pool, arena, self._device, dtype,
            heap_bytes=heap_bytes,
            # Forked workers inherit one layout of addresses, which would be part of what every session finds.
            padding_bytes=_CACHE_LINE_BYTES * self._random.randrange(_MAX_PADDING_LINES),
        )  # fmt: skip

    def __contains__(self, name: str) -> bool:
        return name in self._called

    def __getitem__(self, name: str) -> Worker:
        return self._called[name]

    def drop(self, name: str) -> None:
        """Call it no longer."""
        self._called.pop(name, None)

    def others_seconds(self) -> float:
        """Processor seconds of everybody else since boot where they are felt, to within clock ticks."""
        members = [pid for worker in self._called.values() for pid in worker.tree()]
        own = time.process_time() + sum(map(_processor_seconds, members))
        return machine.busy_seconds(self._device.felt_cores) - own

    def close(self) -> None:
        """All at once: each takes a while to end, above all if it has used a device, and nothing is measured now."""
        with ThreadPoolExecutor(max(1, len(self._running))) as threads:
            closing = [threads.submit(worker.close) for worker in self._running]
        for future in closing:
            future.result()
        for arena in self._own:
            arena.close()


def _processor_seconds(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b") ")[2].split()
    except OSError:
        return 0.0
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")

"""The processor: one core for the judge, another for whichever worker has its turn, caches emptied in between."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

from robust_kbench.devices import machine
from robust_kbench.schema.task import DeviceKind

if TYPE_CHECKING:  # whoever only asks what device this is need not wait for torch
    import torch

_MAX_FLUSH_BYTES = 256 << 20  # of virtual machines that show the cache of a whole socket


class CpuDevice:
    """One thread on one core. The judge's clock is the only one."""

    kind: DeviceKind = "cpu"
    copies_out = False
    starts_at_once = 1
    judging_threads = 1
    spare_cores = 0
    """Which others may use without being felt; of two cores, or of a shared cache and memory bus, none."""

    def __init__(self) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self.judge_core, self.worker_core = cores[0], cores[-1]
        self.handshake: Literal["spin", "blocking"] = "spin" if len(cores) > 1 else "blocking"
        self.cache_bytes = machine.last_level_cache_bytes()
        self._sweep: torch.Tensor | None = None
        self._on_worker_core: ThreadPoolExecutor | None = None

    def facts(self) -> dict[str, str]:
        """What a record says about the device."""
        return {"device": machine.processor_name(), "last_level_cache": f"{self.cache_bytes >> 20} MiB"}

    def watch(self) -> Callable[[], str]:
        """A function that says why what was measured since must not count; nothing that foreign load does not say."""
        return lambda: ""

    def free_bytes(self) -> None:
        """No memory of its own: what is free is the host's."""

    def flush(self) -> None:
        """Read twice the last-level cache: what a kernel is about to read is then in memory, and no line is dirty.

        One half is read on the worker's core, whose own caches nobody else can empty; the worker is stopped meanwhile.
        """
        if self._sweep is None or self._on_worker_core is None:
            import torch

            size = min(2 * self.cache_bytes, _MAX_FLUSH_BYTES)
            self._sweep = torch.ones(size // 8, dtype=torch.int64)
            self._on_worker_core = ThreadPoolExecutor(
                1, "flush", initializer=os.sched_setaffinity, initargs=(0, {self.worker_core})
            )
        middle = len(self._sweep) // 2
        other = self._on_worker_core.submit(self._sweep[middle:].sum)
        self._sweep[:middle].sum()
        other.result()

    @contextlib.contextmanager
    def pinned(self) -> Iterator[None]:
        """Keep the judge's thread on its own core."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self.judge_core})
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)

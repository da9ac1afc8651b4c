"""Processor as a device: one core for the judge, another for the worker whose turn it is; caches emptied in between."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

from robust_kbench.devices import machine
from robust_kbench.devices.cache_lines import evictor
from robust_kbench.schema.task import DeviceKind

if TYPE_CHECKING:  # whoever only asks what device this is need not wait for torch
    import torch

_MAX_SWEEP_BYTES = 64 << 20  # what takes about as long as a kernel of some milliseconds
_MAX_SWEEP_ALONE_BYTES = 256 << 20  # where lines cannot be pushed out by address
_MAX_POOL_BYTES = 64 << 20  # where they can it need not push anything out: room for addresses that nobody foretells


class CpuDevice:
    """Processor as a device: one thread on one core. The judge's clock is the only clock."""

    kind: DeviceKind = "cpu"
    copies_out = False
    starts_at_once = 1  # two on the core that they share with the judge, as in `--jobs 2`, cannot be stopped in time
    judging_threads = 1
    judging_place = "cpu"
    felt_cores: Collection[int] | None = None
    """Cores on which others' work is felt; None means all, as they share the cache and the memory bus."""
    spare_cores = 0
    """Number of these cores that others may use without being felt."""

    def __init__(self) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self.judge_core, self.worker_core = cores[0], cores[-1]
        self.aside_core = self.worker_core if len(cores) > 1 else None
        """Core for work of the judge beside its own thread, while workers are stopped."""
        self.handshake: Literal["spin", "blocking"] = "spin" if len(cores) > 1 else "blocking"
        self.cache_bytes = machine.last_level_cache_bytes()
        self._evict_lines = evictor()
        self.evict = None if self._evict_lines is None else self._evict
        self.sweep_bytes = self._sweep_bytes(machine.core_caches_bytes())
        self.pool_bytes = 2 * self.cache_bytes if self.evict is None else min(2 * self.cache_bytes, _MAX_POOL_BYTES)
        self._swept: torch.Tensor | None = None
        self._on_worker_core: ThreadPoolExecutor | None = None

    def facts(self) -> dict[str, str]:
        """Describe the device for a record."""
        swept = f"{self.sweep_bytes >> 20} MiB read"
        return {
            "device": machine.processor_name(),
            "last_level_cache": f"{self.cache_bytes >> 20} MiB",
            "cache_flush": swept if self.evict is None else f"by address, {swept}",
        }

    def watch(self) -> Callable[[], str]:
        """Return a function that tells why samples since then must not count. It finds nothing beyond foreign load."""
        return lambda: ""

    def free_bytes(self) -> None:
        """Return None: the device has no memory of its own, and its free memory is the host's."""

    def loss(self) -> str:
        """Return an empty string: a processor that does not answer says nothing."""
        return ""

    def _sweep_bytes(self, core_caches_bytes: int) -> int:
        """Return twice the last-level cache, or twice the cores' own caches where reading that takes too long."""
        whole = 2 * self.cache_bytes
        if self.evict is None:
            return min(whole, _MAX_SWEEP_ALONE_BYTES)
        return whole if whole <= _MAX_SWEEP_BYTES else 2 * 2 * core_caches_bytes

    def _evict(self, buffers: Sequence[torch.Tensor]) -> None:
        assert self._evict_lines is not None
        for buffer in buffers:
            self._evict_lines(buffer.data_ptr(), buffer.nbytes)

    def sweep(self) -> None:
        """Push everything out of all caches that can be pushed out in a few milliseconds, see `sweep_bytes`.

        One half is read on the worker's core, whose own caches no other core can empty. The worker is stopped
        meanwhile.
        """
        if self._swept is None or self._on_worker_core is None:
            import torch

            self._swept = torch.ones(self.sweep_bytes // 8, dtype=torch.int64)
            self._on_worker_core = ThreadPoolExecutor(
                1, "flush", initializer=os.sched_setaffinity, initargs=(0, {self.worker_core})
            )
        middle = len(self._swept) // 2
        other = self._on_worker_core.submit(self._swept[middle:].sum)
        self._swept[:middle].sum()
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

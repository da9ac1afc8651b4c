"""A CUDA device, seen from the judge. Its own context is another one than any worker's, and at rest while one runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Literal

from robust_kbench.devices import machine, nvml
from robust_kbench.devices.cpu import CpuDevice
from robust_kbench.schema.task import DeviceKind

_MAX_JUDGING_THREADS = 8


class CudaDevice:
    """The first visible CUDA device. The L2 cache is emptied by the worker, on the device."""

    kind: DeviceKind = "cuda"
    copies_out = True
    evict: None = None  # inputs are copied to the device, which is no matter of the host's caches
    judging_place = "cuda"
    """Where values of timed calls are mixed and answers to them are looked at first: 64 MiB of them at a time."""
    starts_at_once = 8  # creating a context takes seconds, most of them spent waiting

    def __init__(self) -> None:
        host = CpuDevice()
        self.judge_core, self.worker_core = host.judge_core, None
        self.aside_core: None = None  # values are drawn on the device
        self.handshake: Literal["spin", "blocking"] = host.handshake
        self.pool_bytes = host.pool_bytes
        # The host's cores have little else to do while kernels run on the device, and outputs are large.
        self.felt_cores: Collection[int] | None = os.sched_getaffinity(0)
        cores = len(self.felt_cores)
        self.judging_threads = max(1, min(_MAX_JUDGING_THREADS, cores - 1))
        self.spare_cores = max(0, cores - self.judging_threads - 2)  # one for the judge's clock, one for the worker
        self.pinned = contextlib.nullcontext

    @staticmethod
    def is_present() -> bool:
        """Tell if the driver shows a device."""
        return nvml.has_driver()

    @cached_property
    def _source(self) -> nvml.Source:
        return nvml.open_source(nvml.first_visible())

    def facts(self) -> dict[str, str]:
        """Name, driver, limits and modes, and clocks, power and temperature at this moment."""
        now = self.sample()
        return {
            **self._source.facts(),
            "host": machine.processor_name(),
            "sm_clock": nvml.UNKNOWN if now.sm_clock_mhz is None else f"{now.sm_clock_mhz} MHz",
            "memory_clock": nvml.UNKNOWN if now.memory_clock_mhz is None else f"{now.memory_clock_mhz} MHz",
            "power": nvml.UNKNOWN if now.power_w is None else f"{now.power_w:.0f} W",
            "temperature": nvml.UNKNOWN if now.temperature_c is None else f"{now.temperature_c} C",
        }

    def sample(self) -> nvml.Sample:
        """Clocks, power, temperature, slow-downs and processes at this moment, to be compared with a later one."""
        return self._source.sample()

    def watch(self) -> Callable[[], str]:
        """A function that says why what was measured since must not count; empty when nothing speaks against it."""
        before = self.sample()
        return lambda: nvml.discard_reason(before, self.sample()) or ""

    def free_bytes(self) -> int:
        """Free memory of the device."""
        return self._source.free_bytes()

    def loss(self) -> str:
        """Say that the device does not answer any more, and what helps; "" where it answers."""
        try:
            self._source.free_bytes()
        except Exception as error:
            words = f"the GPU does not answer any more ({type(error).__name__}: {error})"
            return f"{words}; `nvidia-smi` and `dmesg | grep Xid` say why; reset it, or restart the machine"
        return ""

    def sweep(self) -> None:
        """Nothing to do on the host."""

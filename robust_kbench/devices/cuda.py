"""A CUDA device, seen from the judge, who never initialises CUDA: the worker does, after it was forked."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from typing import Literal

from robust_kbench.devices import machine
from robust_kbench.devices.cpu import CpuDevice
from robust_kbench.schema.task import DeviceKind

_QUERY = "name,driver_version,memory.total,clocks.sm,clocks.mem,power.limit,temperature.gpu"


class CudaDevice:
    """The first visible CUDA device. The L2 cache is emptied by the worker, on the device."""

    kind: DeviceKind = "cuda"
    copies_out = True

    def __init__(self) -> None:
        host = CpuDevice()
        self.judge_core, self.worker_core = host.judge_core, None
        self.handshake: Literal["spin", "blocking"] = host.handshake
        self.cache_bytes = host.cache_bytes
        self.pinned = host.pinned

    @staticmethod
    def is_present() -> bool:
        """Whether the driver shows a device."""
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            if shutil.which("nvidia-smi"):
                return bool(_nvidia_smi("name"))
        return False

    def facts(self) -> dict[str, str]:
        """Name, driver, memory, clocks, power limit and temperature at this moment."""
        values = _nvidia_smi(_QUERY).split(", ")
        named = dict(zip(_QUERY.split(","), values, strict=False))
        return {"device": named.pop("name", "unknown"), "host": machine.processor_name(), **named}

    def free_bytes(self) -> int:
        """Free memory of the device."""
        return int(_nvidia_smi("memory.free").split()[0]) << 20

    def flush(self) -> None:
        """Nothing to do on the host."""


def _nvidia_smi(query: str) -> str:
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader", "--id=0"]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()

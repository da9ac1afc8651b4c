"""Devices as the judge sees them, one module per device: cores to use, emptying of caches, facts about the machine."""

from __future__ import annotations

from robust_kbench.devices.cpu import CpuDevice
from robust_kbench.devices.cuda import CudaDevice
from robust_kbench.errors import UsageError
from robust_kbench.schema.task import DeviceKind

Device = CpuDevice | CudaDevice


def open_device(name: DeviceKind | str) -> Device:
    """Open `cpu`, `cuda`, or `auto`: cuda where there is one. Raises UsageError when there is no such device."""
    if name == "auto":
        name = "cuda" if CudaDevice.is_present() else "cpu"
    if name == "cpu":
        return CpuDevice()
    if name == "cuda":
        if not CudaDevice.is_present():
            raise UsageError("--device cuda: no CUDA device is visible here; use --device cpu")
        return CudaDevice()
    raise UsageError(f"--device {name}: unknown device; use auto, cpu or cuda")

"""One module per device, seen from the judge: which cores to use, how to empty caches, what the machine is."""

from __future__ import annotations

from robust_kbench.devices.cpu import CpuDevice
from robust_kbench.devices.cuda import CudaDevice
from robust_kbench.errors import UsageError
from robust_kbench.schema.task import DeviceKind

Device = CpuDevice | CudaDevice


def open_device(name: DeviceKind | str) -> Device:
    """`cpu`, `cuda`, or `auto`: cuda where there is one. Raises UsageError when there is no such device."""
    if name == "auto":
        name = "cuda" if CudaDevice.is_present() else "cpu"
    if name == "cpu":
        return CpuDevice()
    if name == "cuda":
        if not CudaDevice.is_present():
            raise UsageError("--device cuda: no CUDA device is visible here; use --device cpu")
        return CudaDevice()
    raise UsageError(f"--device {name}: unknown device; use auto, cpu or cuda")

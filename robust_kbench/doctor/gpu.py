"""CUDA device, its driver, and NVIDIA's tools around them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from robust_kbench.devices import datasheets, nvml
from robust_kbench.devices.cuda import CudaDevice
from robust_kbench.doctor.diagnosis import Diagnosis, output_of

_GROUP = "gpu"
_TOOLKIT = "install the CUDA toolkit and put its bin folder on the PATH"
_PROGRAM = "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"
_COUNTERS = Path("/proc/driver/nvidia/params")

Ask = Callable[[list[str]], str]


def inspect() -> Iterator[Diagnosis]:
    """Diagnose the device and its tools. Without a device there is one line, as the tools have nothing to work on."""
    if not CudaDevice.is_present():
        yield no_device()
        return
    yield from examine(CudaDevice().facts())
    yield management(nvml.open_source(nvml.first_visible()))


def examine(facts: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Diagnose a device that is there, by the facts that its driver tells, and the tools for it."""
    name = facts.get("device", nvml.UNKNOWN)
    found = f"{name}, {facts.get('memory', nvml.UNKNOWN)}, driver {facts.get('driver', nvml.UNKNOWN)}"
    yield Diagnosis(_GROUP, "device", "ok", found)
    yield peaks(name, datasheets.megahertz(facts.get("sm_clock_max", "")))
    yield torch_sees_it()
    yield tool("ncu", "profiles")
    yield counters()
    yield tool("compute-sanitizer", "memory and race checks")


def no_device() -> Diagnosis:
    """Tell apart a machine without a driver and one whose driver shows no device."""
    if shutil.which("nvidia-smi") is None:
        found = "no nvidia-smi: kernels are judged on the cpu device, CUDA kernels emulated"
        return Diagnosis(_GROUP, "device", "missing", found, "with a GPU: install NVIDIA's driver")
    found = "nvidia-smi shows no device: kernels are judged on the cpu device, CUDA kernels emulated"
    return Diagnosis(_GROUP, "device", "missing", found, "in a container: docker run --gpus all; else see: nvidia-smi")


def peaks(name: str, max_sm_mhz: int | None) -> Diagnosis:
    """Tell if times on this device can be held to its datasheet."""
    known = datasheets.find(name, max_sm_mhz)
    if known is None:
        found = f"{name} is not in the table: times are held to measured ceilings only"
        return Diagnosis(_GROUP, "datasheet", "warn", found, "add a row to robust_kbench/devices/datasheets.py")
    tera = {unit: rate / 1e12 for unit, rate in known.flops_per_s.items()}
    found = f"{known.bytes_per_s / 1e12:.2f} TB/s, {tera['float32']:.1f} float32 TFLOP/s ({known.source})"
    figures = {f"{unit}_flops_per_s": rate for unit, rate in known.flops_per_s.items()}
    return Diagnosis(_GROUP, "datasheet", "ok", found, figures={"memory_bytes_per_s": known.bytes_per_s, **figures})


def torch_sees_it(ask: Ask = output_of) -> Diagnosis:
    """Tell if PyTorch reaches the device. Another process is asked, since this one must not initialise CUDA."""
    words = ask([sys.executable, "-I", "-c", _PROGRAM]).split()
    if words[-1:] == ["True"]:
        return Diagnosis(_GROUP, "torch", "ok", f"{words[0]} on CUDA {words[1]}")
    if words[1:2] == ["None"]:
        remedy = "pip install --force-reinstall torch --index-url https://pypi.org/simple"
        return Diagnosis(_GROUP, "torch", "missing", f"{words[0]} is a build without CUDA", remedy)
    found = "PyTorch sees no device: its CUDA may be newer than the driver, or CUDA_VISIBLE_DEVICES may hide it"
    return Diagnosis(_GROUP, "torch", "missing", found, "update the driver; unset CUDA_VISIBLE_DEVICES")


def management(source: nvml.Source) -> Diagnosis:
    """Tell if the management library answers. Otherwise nvidia-smi is asked, which takes a hundred times as long."""
    if isinstance(source, nvml.Nvml):
        return Diagnosis(_GROUP, "nvml", "ok", "answers")
    found = "cannot be loaded or does not start: nvidia-smi is asked for clocks and slow-downs instead"
    return Diagnosis(_GROUP, "nvml", "warn", found, "pip install nvidia-ml-py")


def tool(name: str, purpose: str) -> Diagnosis:
    """Tell if one of NVIDIA's programs is on the PATH."""
    if (path := shutil.which(name)) is None:
        return Diagnosis(_GROUP, name, "missing", f"not on the PATH: no {purpose}", _TOOLKIT)
    return Diagnosis(_GROUP, name, "ok", path)


def counters(parameters: Path = _COUNTERS, user: int | None = None) -> Diagnosis:
    """Tell if the driver lets this user read performance counters, which ncu needs."""
    text = parameters.read_text() if parameters.is_file() else ""
    if "RmProfilingAdminOnly: 1" in text and (os.getuid() if user is None else user) != 0:
        remedy = (
            "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | "
            "sudo tee /etc/modprobe.d/nvidia-profiling.conf, then restart"
        )
        return Diagnosis(_GROUP, "counters", "warn", "only root may read them: ncu shows nothing", remedy)
    return Diagnosis(_GROUP, "counters", "ok", "may be read")

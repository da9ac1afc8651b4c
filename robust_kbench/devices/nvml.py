"""Facts about one device, from NVIDIA's management library. It may be missing; then nvidia-smi is asked instead.

A fact that the driver does not tell is `unknown`, or None: a laptop's has no vbios for us, a virtual one no power.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

UNKNOWN = "unknown"
POWER_CAP = 0x4
SLOWDOWNS: Mapping[int, str] = {
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
"""Bits of the reasons for lower clocks. The power cap is not among them: times under it count."""
_SMI_FIELDS: Mapping[str, str] = {
    "device": "name",
    "driver": "driver_version",
    "vbios": "vbios_version",
    "memory": "memory.total",
    "sm_clock_max": "clocks.max.sm",
    "memory_clock_max": "clocks.max.mem",
    "power_limit": "power.limit",
    "ecc": "ecc.mode.current",
    "mig": "mig.mode.current",
    "capability": "compute_cap",
    "uuid": "uuid",
}
_CAPABILITY = re.compile(r"(\d{1,2})\.(\d)")
_SMI_SAMPLE = "clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_throttle_reasons.active"


@dataclass(frozen=True)
class Sample:
    """State of the device at one moment. `compute_processes` counts all of them, ours too."""

    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    power_w: float | None = None
    temperature_c: int | None = None
    slowdown_bits: int | None = None
    compute_processes: int | None = None


def discard_reason(before: Sample, after: Sample) -> str | None:
    """Tell why samples between two looks at the device must not count; None when nothing speaks against them."""
    bits = (before.slowdown_bits or 0) | (after.slowdown_bits or 0)
    slowed = [name for bit, name in SLOWDOWNS.items() if bits & bit]
    if slowed:
        return f"the device had lowered its clocks: {', '.join(slowed)}"
    if before.compute_processes is not None and after.compute_processes is not None:
        more = after.compute_processes - before.compute_processes
        if more > 0:
            return f"{more} more processes began to compute on the device meanwhile"
    return None


def is_power_limited(before: Sample, after: Sample) -> bool:
    """Tell if the device ran into its power cap. Its times count, and the record says so."""
    return bool(((before.slowdown_bits or 0) | (after.slowdown_bits or 0)) & POWER_CAP)


class Source(Protocol):
    """Source of facts about a device: the management library or nvidia-smi."""

    def facts(self) -> dict[str, str]:
        """Return the facts that do not change, as text."""

    def sample(self) -> Sample:
        """Return the facts that change, at this moment."""

    def free_bytes(self) -> int:
        """Return the free memory of the device."""


def first_visible(environment: Mapping[str, str] = os.environ) -> str:
    """Return the index or unique name of the device that CUDA shows first."""
    return environment.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip() or "0"


def visible(environment: Mapping[str, str] = os.environ) -> list[str]:
    """List all devices that CUDA shows, as CUDA_VISIBLE_DEVICES names them. Raises OSError or SubprocessError."""
    chosen = environment.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip()]
    command = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.split()


def open_source(device: str) -> Source:
    """Open NVML if it is installed and finds the device, else nvidia-smi."""
    with contextlib.suppress(Exception):  # not installed, no driver, or a driver that is older than the library
        return Nvml(importlib.import_module("pynvml"), device)
    return Smi(device)


class Nvml:
    """Management library of NVIDIA; `library` is the module pynvml."""

    def __init__(self, library: Any, device: str) -> None:
        self._nvml = library
        library.nvmlInit()
        is_index = device.isdigit()
        find = library.nvmlDeviceGetHandleByIndex if is_index else library.nvmlDeviceGetHandleByUUID
        self._handle = find(int(device) if is_index else device)

    def facts(self) -> dict[str, str]:
        """Return the facts that do not change, as text; the unique name only as a digest."""
        nvml = self._nvml
        memory, ecc, mig = self._get("MemoryInfo"), self._get("EccMode"), self._get("MigMode")
        limit_mw, capability = self._get("EnforcedPowerLimit"), self._get("CudaComputeCapability")
        return {
            "device": _text(self._get("Name")),
            "driver": _text(self._try(nvml.nvmlSystemGetDriverVersion)),
            "vbios": _text(self._get("VbiosVersion")),
            "memory": UNKNOWN if memory is None else f"{memory.total >> 20} MiB",
            "sm_clock_max": _unit(self._get("MaxClockInfo", nvml.NVML_CLOCK_SM), "MHz"),
            "memory_clock_max": _unit(self._get("MaxClockInfo", nvml.NVML_CLOCK_MEM), "MHz"),
            "power_limit": UNKNOWN if limit_mw is None else f"{limit_mw / 1e3:.0f} W",
            "ecc": _switch(ecc),
            "mig": _switch(mig),
            "capability": UNKNOWN if capability is None else f"{capability[0]}.{capability[1]}",
            "uuid_hash": digest(_text(self._get("UUID"))),
        }

    def sample(self) -> Sample:
        """Return the state of the device at this moment. Takes about a millisecond."""
        nvml = self._nvml
        power_mw, running = self._get("PowerUsage"), self._get("ComputeRunningProcesses")
        return Sample(
            sm_clock_mhz=self._get("ClockInfo", nvml.NVML_CLOCK_SM),
            memory_clock_mhz=self._get("ClockInfo", nvml.NVML_CLOCK_MEM),
            power_w=None if power_mw is None else power_mw / 1e3,
            temperature_c=self._get("Temperature", nvml.NVML_TEMPERATURE_GPU),
            slowdown_bits=self._get("CurrentClocksThrottleReasons"),
            compute_processes=None if running is None else len(running),
        )

    def free_bytes(self) -> int:
        """Return the free memory of the device."""
        return int(self._nvml.nvmlDeviceGetMemoryInfo(self._handle).free)

    def _get(self, what: str, *more: Any) -> Any:
        function = getattr(self._nvml, f"nvmlDeviceGet{what}", None)
        return None if function is None else self._try(lambda: function(self._handle, *more))

    def _try(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except self._nvml.NVMLError:
            return None


class Smi:
    """Command nvidia-smi, for machines without the library. Raises OSError or SubprocessError where it fails."""

    def __init__(self, device: str) -> None:
        self._device = device

    def facts(self) -> dict[str, str]:
        """Return the facts that do not change, as text; the unique name only as a digest."""
        values = self._query("gpu", ",".join(_SMI_FIELDS.values())).split(", ")
        told = {name: _known(value) or UNKNOWN for name, value in zip(_SMI_FIELDS, values, strict=False)}
        uuid = told.pop("uuid", UNKNOWN)
        return {**told, "uuid_hash": digest(uuid)}

    def sample(self) -> Sample:
        """Return the state of the device at this moment. Takes some tens of milliseconds."""
        told = [_known(value) for value in self._query("gpu", _SMI_SAMPLE, units=False).split(", ")]
        sm, memory, power, temperature, bits = (told + [None] * 5)[:5]
        running = self._query("compute-apps", "pid").split()
        return Sample(
            _integer(sm),
            _integer(memory),
            float(power) if power else None,
            _integer(temperature),
            int(bits, 16) if bits else None,
            len(running),
        )

    def free_bytes(self) -> int:
        """Return the free memory of the device."""
        return int(self._query("gpu", "memory.free").split()[0]) << 20

    def _query(self, what: str, fields: str, *, units: bool = True) -> str:
        form = "csv,noheader" if units else "csv,noheader,nounits"
        command = ["nvidia-smi", f"--query-{what}={fields}", f"--format={form}", f"--id={self._device}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()


def has_driver() -> bool:
    """Tell if the driver shows a device."""
    if shutil.which("nvidia-smi"):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            return Smi(first_visible()).facts()["device"] not in ("", UNKNOWN)
    return False


@functools.cache
def architecture() -> str | None:
    """Return the architecture of the first visible device, as compilers call it, such as sm_90; None without one."""
    return architecture_of(first_visible())


def architecture_of(device: str) -> str | None:
    """Return the architecture of any device, named as `visible` does; None where it is not known."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        if match := _CAPABILITY.fullmatch(open_source(device).facts().get("capability", "")):
            return f"sm_{match[1]}{match[2]}"
    return None


def digest(uuid: str) -> str:
    """Return a digest that tells devices apart without naming them."""
    return UNKNOWN if uuid == UNKNOWN else hashlib.sha256(uuid.encode()).hexdigest()[:12]


def _text(value: Any) -> str:
    if value is None:
        return UNKNOWN
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _unit(value: Any, unit: str) -> str:
    return UNKNOWN if value is None else f"{value} {unit}"


def _switch(modes: Any) -> str:
    """Name the current mode. NVML gives the current and the pending one."""
    return UNKNOWN if modes is None else ("on" if modes[0] else "off")


def _known(value: str) -> str | None:
    return None if value in ("", "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]") else value


def _integer(value: str | None) -> int | None:
    return None if value is None else round(float(value))

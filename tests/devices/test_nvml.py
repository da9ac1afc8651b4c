"""Facts about a CUDA device, from a stand-in for the management library and from one for nvidia-smi."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from robust_kbench.devices import nvml
from robust_kbench.devices.cuda import CudaDevice
from robust_kbench.devices.nvml import Nvml, Sample, Smi, discard_reason, is_power_limited

FACTS = {
    "device": "NVIDIA H200",
    "driver": "570.1",
    "vbios": "96.00",
    "memory": "143771 MiB",
    "sm_clock_max": "1980 MHz",
    "memory_clock_max": "3201 MHz",
    "power_limit": "700 W",
    "ecc": "on",
    "mig": "off",
    "capability": "9.0",
    "uuid_hash": nvml.digest("GPU-1234"),
}


class Library:
    """A driver with one device; `missing` functions raise, as they do for features that a device does not support."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    class NVMLError(Exception):
        pass

    def __init__(self, *missing: str, version: str = "570.1") -> None:
        self._missing = missing
        self._version = version
        self.opened: list[Any] = []

    def nvmlInit(self) -> None:  # noqa: N802 - NVML's name
        pass

    def __getattr__(self, name: str) -> Any:
        answers: dict[str, Any] = {
            "SystemGetDriverVersion": lambda: self._version,
            "DeviceGetHandleByIndex": self._open,
            "DeviceGetHandleByUUID": self._open,
            "DeviceGetName": lambda _: b"NVIDIA H200",
            "DeviceGetVbiosVersion": lambda _: "96.00",
            "DeviceGetUUID": lambda _: "GPU-1234",
            "DeviceGetMemoryInfo": lambda _: types.SimpleNamespace(total=143771 << 20, free=1 << 30),
            "DeviceGetEccMode": lambda _: [1, 1],
            "DeviceGetMigMode": lambda _: [0, 0],
            "DeviceGetCudaComputeCapability": lambda _: (9, 0),
            "DeviceGetEnforcedPowerLimit": lambda _: 700_000,
            "DeviceGetMaxClockInfo": lambda _, which: {1: 1980, 2: 3201}[which],
            "DeviceGetClockInfo": lambda _, which: {1: 1755, 2: 3201}[which],
            "DeviceGetPowerUsage": lambda _: 345_600,
            "DeviceGetTemperature": lambda _, which: 41,
            "DeviceGetCurrentClocksThrottleReasons": lambda _: 0x4,
            "DeviceGetComputeRunningProcesses": lambda _: [object(), object()],
        }
        short = name.removeprefix("nvml")
        if short not in answers:
            raise AttributeError(name)
        return self._refuse if short in self._missing else answers[short]

    def _open(self, device: Any) -> str:
        self.opened.append(device)
        return "handle"

    def _refuse(self, *_: Any) -> None:
        raise Library.NVMLError


def test_everything_that_the_library_tells_is_a_fact() -> None:
    assert Nvml(Library(), "0").facts() == FACTS


@pytest.mark.parametrize(
    ("function", "fact"),
    [("DeviceGetMigMode", "mig"), ("DeviceGetVbiosVersion", "vbios"), ("DeviceGetEnforcedPowerLimit", "power_limit")],
)
def test_what_a_device_does_not_support_is_unknown_and_the_rest_is_told(function: str, fact: str) -> None:
    assert Nvml(Library(function), "0").facts() == {**FACTS, fact: "unknown"}


def test_a_sample_holds_what_changes() -> None:
    assert Nvml(Library(), "0").sample() == Sample(1755, 3201, 345.6, 41, 0x4, 2)
    assert Nvml(Library("DeviceGetPowerUsage"), "0").sample().power_w is None


@pytest.mark.parametrize(
    ("visible", "opened"), [("", 0), ("3,1", 3), ("GPU-1234", "GPU-1234"), ("MIG-9, 0", "MIG-9")], ids=str
)
def test_the_device_that_cuda_shows_first_is_asked(visible: str, opened: int | str) -> None:
    library = Library()
    Nvml(library, nvml.first_visible({"CUDA_VISIBLE_DEVICES": visible}))
    assert library.opened == [opened]


def test_all_devices_that_are_visible_are_listed_as_they_were_chosen() -> None:
    assert nvml.visible({"CUDA_VISIBLE_DEVICES": "3, GPU-1234"}) == ["3", "GPU-1234"]
    assert nvml.visible({"CUDA_VISIBLE_DEVICES": ""}) == []


def test_where_none_was_chosen_all_are_listed_by_unique_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "nvidia-smi"
    command.write_text('#!/bin/sh\n[ "$*" = "--query-gpu=uuid --format=csv,noheader" ] && printf "GPU-1\\nGPU-2\\n"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert nvml.visible({}) == ["GPU-1", "GPU-2"]


def test_no_fact_names_the_device_itself() -> None:
    assert "GPU-1234" not in str(Nvml(Library(), "0").facts())
    assert nvml.digest("GPU-1234") != nvml.digest("GPU-1235")


@pytest.mark.parametrize(
    ("bits", "words"),
    [(0x8, "hardware slowdown"), (0x20, "software thermal"), (0x40, "hardware thermal"), (0x80, "power brake")],
    ids=str,
)
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_session_on_a_device_that_slows_itself_down_is_discarded(bits: int, words: str, is_after: bool) -> None:
    calm, slowed = Sample(slowdown_bits=0x1), Sample(slowdown_bits=bits)
    reason = discard_reason(calm, slowed) if is_after else discard_reason(slowed, calm)
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize("bits", [0x0, 0x1, 0x2, 0x4, 0x10, 0x100, None], ids=str)
def test_a_session_at_the_power_cap_or_at_chosen_clocks_counts(bits: int | None) -> None:
    assert discard_reason(Sample(slowdown_bits=bits), Sample(slowdown_bits=bits)) is None
    assert is_power_limited(Sample(), Sample(slowdown_bits=bits)) == (bits == 0x4)


def test_a_session_into_which_somebody_else_came_is_discarded() -> None:
    assert discard_reason(Sample(compute_processes=2), Sample(compute_processes=3)) == (
        "1 more processes began to compute on the device meanwhile"
    )
    assert discard_reason(Sample(compute_processes=3), Sample(compute_processes=2)) is None


SMI = """#!/bin/sh
case "$*" in
  *compute-apps*) printf '11\\n12\\n' ;;
  *memory.free*) echo '1024 MiB' ;;
  *nounits*) echo '1755, 3201, 345.60, 41, 0x0000000000000004' ;;
  *) echo 'NVIDIA H200, 570.1, [N/A], 143771 MiB, 1980 MHz, 3201 MHz, 700.00 W, Enabled, [N/A], 9.0, GPU-1234' ;;
esac
"""


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "nvidia-smi"
    command.write_text(SMI)
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("smi")
def test_without_the_library_nvidia_smi_tells_the_same() -> None:
    assert Smi("0").facts() == {
        **FACTS,
        "vbios": "unknown",
        "power_limit": "700.00 W",
        "ecc": "Enabled",
        "mig": "unknown",
    }
    assert Smi("0").sample() == Sample(1755, 3201, 345.6, 41, 0x4, 2)
    assert Smi("0").free_bytes() == 1 << 30


@pytest.mark.usefixtures("smi")
def test_compilers_are_told_the_devices_architecture() -> None:
    nvml.architecture.cache_clear()
    assert nvml.architecture() == "sm_90"
    nvml.architecture.cache_clear()


def test_without_a_device_there_is_no_architecture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    nvml.architecture.cache_clear()
    assert nvml.architecture() is None
    nvml.architecture.cache_clear()


@pytest.mark.usefixtures("smi")
def test_a_device_is_seen_through_whichever_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CudaDevice.is_present()
    monkeypatch.setitem(sys.modules, "pynvml", Library(version="571"))
    assert CudaDevice().facts()["driver"] == "571"
    monkeypatch.setitem(sys.modules, "pynvml", None)  # as if it were not installed
    facts = CudaDevice().facts()
    assert (facts["driver"], facts["sm_clock"], facts["temperature"]) == ("570.1", "1755 MHz", "41 C")


def test_without_a_driver_there_is_no_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not CudaDevice.is_present()

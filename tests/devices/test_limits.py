"""Bounds that the measurements of a device are held to."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, cast

import pytest
from specimens import make_ceilings

from robust_kbench.devices import Device, ceilings
from robust_kbench.devices import limits as limits_module
from robust_kbench.devices.ceilings import Ceilings
from robust_kbench.devices.cpu import CpuDevice
from robust_kbench.devices.limits import Limits, known_limits, limits_of, measured_again
from robust_kbench.errors import HarnessError, SpecError


class MadeGpu:
    kind = "cuda"

    def __init__(self, **facts: str) -> None:
        self._facts = facts

    def facts(self) -> dict[str, str]:
        return self._facts


def gpu(name: str, **facts: str) -> Device:
    return cast(Device, MadeGpu(device=name, **facts))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def keep(device: Device, **changes: Any) -> Ceilings:
    found = make_ceilings(device=device.facts()["device"], kind=device.kind, **changes)
    ceilings.write(ceilings._path(device), found)
    return found


def test_a_processor_that_was_never_measured_has_no_limits() -> None:
    assert limits_of(CpuDevice()) == Limits(None, None)


def test_a_processor_is_held_to_its_ceilings_with_and_without_a_margin() -> None:
    device = CpuDevice()
    found = keep(device)
    assert limits_of(device) == Limits(found.bounds(), found.peaks())


def test_a_gpu_is_held_to_its_datasheet_before_anything_was_measured() -> None:
    limits = limits_of(gpu("NVIDIA H200"))
    assert limits.measured is None
    assert limits.bound is not None
    assert limits.bound.flops_per_s["bfloat16"] == pytest.approx(989.4e12)


def test_a_gpus_peaks_are_those_of_its_highest_clock() -> None:
    limits = limits_of(gpu("NVIDIA H200", sm_clock_max="1980 MHz"))
    assert limits.bound is not None
    assert limits.bound.flops_per_s["bfloat16"] == pytest.approx(989.4e12 * 1980 / 1830)


def test_an_unknown_gpu_is_held_to_what_was_measured_and_nothing_is_impossible() -> None:
    device = gpu("NVIDIA GeForce GTX 1080")
    found = keep(device)
    assert limits_of(device) == Limits(None, found.peaks())


def test_two_gpus_keep_their_ceilings_apart() -> None:
    keep(gpu("NVIDIA H200"))
    assert limits_of(gpu("NVIDIA L4")).measured is None


def test_ceilings_that_are_not_believed_are_not_passed_over(home: Path) -> None:
    device = CpuDevice()
    path = ceilings._path(device)
    path.parent.mkdir()
    path.write_text("{}")
    with pytest.raises(SpecError, match="kbench doctor --measure"):
        limits_of(device)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Ceilings]:
    """Replace the measuring processes by a list of their findings, in order; nothing else is known of the machine."""
    found: list[Ceilings] = []
    monkeypatch.setattr(limits_module, "_repeated", set())
    monkeypatch.setattr(ceilings, "_ask", lambda _: found.pop(0))
    monkeypatch.setattr(ceilings, "_foreign_seconds", lambda: 0.0)
    monkeypatch.setattr("robust_kbench.machine_lock.quiet", contextlib.nullcontext)
    return found


def test_of_two_measurements_the_higher_rate_counts_each(answers: list[Ceilings]) -> None:
    keep(CpuDevice(), copy_bytes_per_s=10e9, read_bytes_per_s=9e9, flops_per_s={"float32": 2e9})
    answers.append(make_ceilings(copy_bytes_per_s=8e9, read_bytes_per_s=12e9, flops_per_s={"float32": 1e9}))
    again = measured_again(CpuDevice())
    assert again == limits_of(CpuDevice())
    kept = ceilings.cached(CpuDevice())
    assert kept is not None
    assert (kept.copy_bytes_per_s, kept.read_bytes_per_s, kept.flops_per_s["float32"]) == (10e9, 12e9, 2e9)


def test_a_processor_is_measured_again_only_once(answers: list[Ceilings]) -> None:
    keep(CpuDevice())
    answers.append(make_ceilings(read_bytes_per_s=1e12))
    assert measured_again(CpuDevice()) is not None
    assert measured_again(CpuDevice()) is None


def test_lower_rates_and_a_busy_machine_change_nothing(
    answers: list[Ceilings], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = keep(CpuDevice())
    lower = make_ceilings(
        copy_bytes_per_s=1.0, read_bytes_per_s=1.0, fill_bytes_per_s=1.0, flops_per_s={"float32": 1.0}
    )
    answers += [lower, make_ceilings(read_bytes_per_s=1e12)]
    assert measured_again(CpuDevice()) is None
    monkeypatch.setattr(limits_module, "_repeated", set())
    used = iter([0.0, 1e6])
    monkeypatch.setattr(ceilings, "_foreign_seconds", lambda: next(used))
    assert measured_again(CpuDevice()) is None
    assert ceilings.cached(CpuDevice()) == kept
    assert measured_again(gpu("NVIDIA H200")) is None


@pytest.mark.parametrize(("foreign_seconds", "is_kept"), [(0.0, True), (1e6, False)])
def test_ceilings_measured_beside_other_work_are_not_kept(
    foreign_seconds: float, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = CpuDevice()
    found = make_ceilings(device=device.facts()["device"], kind="cpu")
    used = iter([0.0, foreign_seconds] * 2)
    monkeypatch.setattr(limits_module, "_failed", set())
    monkeypatch.setattr(ceilings, "_ask", lambda _: found)
    monkeypatch.setattr(ceilings, "_foreign_seconds", lambda: next(used))
    monkeypatch.setattr("robust_kbench.machine_lock.quiet", contextlib.nullcontext)
    limits = known_limits(device)
    assert limits == (Limits(found.bounds(), found.peaks()) if is_kept else Limits(None, None))
    assert ceilings.cached(device) == (found if is_kept else None)
    assert known_limits(device) == limits  # nothing is measured again: `used` is for one more time only
    if not is_kept:
        with pytest.raises(HarnessError, match="others used .* of a core meanwhile; stop what else runs here"):
            ceilings.measured(device)

"""The doctor's report on ceilings that are kept, absent, broken or just measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from robust_kbench.devices import ceilings
from robust_kbench.devices.ceilings import Ceilings
from robust_kbench.devices.cpu import CpuDevice
from robust_kbench.doctor import speed
from robust_kbench.errors import HarnessError

G = 1e9


def kept(device: CpuDevice) -> Ceilings:
    return Ceilings(
        device=device.facts()["device"], kind="cpu", torch="2.13.0", cache_bytes=1 << 25,
        copy_bytes_per_s=40 * G, read_bytes_per_s=45 * G, fill_bytes_per_s=36 * G,
        flops_per_s={"float32": 108 * G, "bfloat16": 479 * G},
    )  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_ceilings_that_were_never_measured_are_a_remark_with_the_command() -> None:
    found = speed.device(CpuDevice(), measure=False)
    assert (found.status, found.remedy) == ("warn", "kbench doctor --measure")


def test_ceilings_are_shown_for_people_and_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "cached", kept)
    found = speed.device(CpuDevice(), measure=False)
    assert found.status == "ok"
    assert found.found == "GB/s: 40 copying, 45 reading, 36 filling; GFLOP/s: float32 108, bfloat16 479"
    assert found.figures == {
        "copy_bytes_per_s": 40 * G,
        "read_bytes_per_s": 45 * G,
        "fill_bytes_per_s": 36 * G,
        "float32_flops_per_s": 108 * G,
        "bfloat16_flops_per_s": 479 * G,
    }


def test_on_demand_they_are_measured_whatever_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "measured", kept)
    assert speed.device(CpuDevice(), measure=True).status == "ok"


def test_a_file_that_is_not_believed_is_a_remark(home: Path) -> None:
    device = CpuDevice()
    path = ceilings._path(device)
    path.parent.mkdir()
    path.write_text('{"copy_bytes_per_s": 1e999}')
    found = speed.device(device, measure=False)
    assert found.status == "warn"
    assert str(path) in found.found


def test_a_measurement_that_fails_is_a_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(device: CpuDevice) -> Ceilings:
        raise HarnessError("no luck")

    monkeypatch.setattr(ceilings, "measured", fail)
    found = speed.device(CpuDevice(), measure=True)
    assert (found.status, found.found) == ("warn", "no luck")

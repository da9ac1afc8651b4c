"""Ceilings: measured in another process, kept, and read back as the input that they are."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from specimens import make_ceilings

from robust_kbench import machine_lock
from robust_kbench.devices import calibration, ceilings
from robust_kbench.devices.cpu import CpuDevice
from robust_kbench.errors import HarnessError, SpecError

G = 10**9


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "cache" / "ceilings.json"
    ceilings.write(path, make_ceilings())
    return path


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Waits for no evaluation on this machine; says in which order the machine was taken and given back."""
    events: list[str] = []

    @contextmanager
    def quiet() -> Iterator[None]:
        events.append("taken")
        try:
            yield
        finally:
            events.append("given back")

    monkeypatch.setattr(machine_lock, "quiet", quiet)
    return events


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples that take no time worth speaking of."""
    monkeypatch.setattr(calibration, "_BUDGET_S", 0.0)
    monkeypatch.setattr(calibration, "_MAX_WORKING_SET_BYTES", 1 << 16)
    monkeypatch.setattr(calibration, "_CPU_SIZES", (8, 16))


def test_what_was_kept_is_read_back(kept: Path) -> None:
    assert ceilings.read(kept, CpuDevice()) == make_ceilings()
    assert [path.name for path in kept.parent.iterdir()] == ["ceilings.json"]


def test_nothing_is_known_before_anything_was_kept(tmp_path: Path) -> None:
    assert ceilings.read(tmp_path / "none.json", CpuDevice()) is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0, 0.0, 1e30, "fast", None, True])
@pytest.mark.parametrize("key", ["copy_bytes_per_s", "float32"])
def test_a_rate_that_is_none_is_refused_with_the_file_and_the_remedy(kept: Path, key: str, value: object) -> None:
    data = json.loads(kept.read_text())
    (data["flops_per_s"] if key == "float32" else data)[key] = value
    kept.write_text(json.dumps(data))
    with pytest.raises(SpecError, match=f"^{kept}: .*{key}.*; delete the file, or measure again: kbench doctor"):
        ceilings.read(kept, CpuDevice())


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b"\xff\xfe", b"{}", b"[" * 60_000, b'{"device": 1}'],
    ids=["empty", "list", "half", "no text", "no keys", "deep", "one key"],
)
def test_a_file_that_is_no_such_document_is_refused(kept: Path, content: bytes) -> None:
    kept.write_bytes(content)
    with pytest.raises(SpecError, match="delete the file"):
        ceilings.read(kept, CpuDevice())


def test_a_file_of_gigabytes_is_not_read(kept: Path) -> None:
    with open(kept, "ab") as file:
        file.write(b" " * 70_000)  # still the same document
    with pytest.raises(SpecError, match="more than 65,536 bytes"):
        ceilings.read(kept, CpuDevice())


@pytest.mark.parametrize("changes", [{"device": "another"}, {"kind": "cuda"}])
def test_ceilings_of_another_device_are_refused(tmp_path: Path, changes: dict[str, str]) -> None:
    path = tmp_path / "ceilings.json"
    ceilings.write(path, make_ceilings(**changes))
    with pytest.raises(SpecError, match="but this is"):
        ceilings.read(path, CpuDevice())


def test_the_bandwidth_is_the_best_of_the_three() -> None:
    peaks = make_ceilings().peaks()
    assert (peaks.bytes_per_s, peaks.flops_per_s) == (12.0 * G, {"float32": 100.0 * G})
    assert peaks.cache_bytes == 1 << 20


def test_what_is_impossible_on_a_processor_lies_twice_and_four_times_above_what_was_measured() -> None:
    bounds = make_ceilings().bounds()
    assert (bounds.bytes_per_s, bounds.flops_per_s) == (24.0 * G, {"float32": 400.0 * G})


def test_a_measurement_is_kept_for_the_next_evaluation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alone: list[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = tmp_path / "python"
    rates = '"copy_bytes_per_s":2.0,"read_bytes_per_s":3.0,"fill_bytes_per_s":4.0,"flops_per_s":{"float32":5.0}'
    program.write_text(f"#!/bin/sh\necho '{{\"cache_bytes\":1,{rates}}}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(ceilings, "_foreign_seconds", lambda: 0.0)  # whatever else runs beside these tests
    device = CpuDevice()
    assert ceilings.cached(device) is None
    found = ceilings.measured(device)
    assert (found.fill_bytes_per_s, found.flops_per_s, found.kind) == (4.0, {"float32": 5.0}, "cpu")
    assert ceilings.cached(device) == found
    assert alone == ["taken", "given back"]


def test_a_processor_is_measured_on_the_core_that_workers_run_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alone: list[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho $@ $OMP_NUM_THREADS > {tmp_path}/said\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    device = CpuDevice()
    with pytest.raises(HarnessError):
        ceilings.measured(device)
    expected = f"-I -m robust_kbench.devices.calibration cpu {device.worker_core} 1\n"
    assert (tmp_path / "said").read_text() == expected
    assert alone == ["taken", "given back"]


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_this_machine_has_ceilings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = ceilings.measured(CpuDevice())
    assert found.flops_per_s["float32"] > found.flops_per_s["float64"]
    assert ceilings.cached(CpuDevice()) == found


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'no such thing' >&2; exit 1", "the measuring process failed: no such thing"),
        ("exit 3", "the measuring process failed: exit code 3"),
        ("echo nonsense", "not JSON"),
        ('echo \'{"cache_bytes":1,"copy_bytes_per_s":NaN}\'', "copy_bytes_per_s"),
    ],
)
def test_a_measuring_process_that_fails_is_our_own_failure_and_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, words: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(HarnessError, match=words):
        ceilings.measured(CpuDevice())
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("short")
def test_a_processors_ceilings_have_all_that_a_floor_needs() -> None:
    found = calibration.measure_cpu()
    parsed = make_ceilings(**found)
    assert set(parsed.flops_per_s) == {"float64", "float32", "bfloat16", "float16"}


def counting(times: Iterator[float]) -> tuple[Callable[[Callable[[], Any]], float], list[int]]:
    calls = [0]

    def clock(action: Callable[[], Any]) -> float:
        calls[0] += 1
        action()
        return next(times)

    return clock, calls


def test_a_rate_is_the_median_of_twenty_samples() -> None:
    clock, calls = counting(iter([1.0] * 9 + [2.0, 4.0] + [9.0] * 9))
    assert calibration.median_s(lambda: None, clock) == 3.0
    assert calls == [20]


def test_of_slow_calls_fewer_samples_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_BUDGET_S", -1.0)
    clock, calls = counting(iter([5.0] * 20))
    assert calibration.median_s(lambda: None, clock) == 5.0
    assert calls == [5]


def test_the_best_formulation_counts() -> None:
    seconds = {"slow": 4.0, "fast": 2.0}
    made: list[Callable[[], str]] = [lambda: "slow", lambda: "fast"]
    assert calibration.fastest(made, lambda action: seconds[action()]) == 2.0


def test_bytes_are_counted_twice_where_they_are_read_and_written() -> None:
    found = calibration.memory_rates(4096, "cpu", lambda action: [1e-6, action()][0])
    assert found == {"copy_bytes_per_s": 8192e6, "read_bytes_per_s": 4096e6, "fill_bytes_per_s": 4096e6}


def test_products_grow_until_they_take_long_enough() -> None:
    sizes: list[int] = []

    def clock(action: Callable[[], torch.Tensor]) -> float:
        sizes.append(action().shape[0])
        return 1e-9 * sizes[-1] ** 3  # 64: 0.26 ms, 512: 0.13 s, 1024: 1.07 s

    assert calibration.product_rate("float32", "cpu", (64, 512, 1024), clock) == pytest.approx(2e9)
    assert sizes == [64, 512, *[512] * 20]

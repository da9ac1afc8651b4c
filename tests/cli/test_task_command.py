"""`kbench task` as a user meets it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from robust_kbench.cli.contract import lines
from robust_kbench.devices.peaks import Peaks
from robust_kbench.registry import load_task

PEAKS = Peaks("measured somewhere", 1e10, {"float32": 1e11}, 0)


def kbench(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "robust_kbench", "task", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)


def shown(task: str, peaks: Peaks | None = PEAKS) -> list[str]:
    return list(lines(load_task(task), "cpu", peaks))


def test_a_machine_without_ceilings_is_told_how_to_measure_them(tmp_path: Path) -> None:
    done = kbench("norm/rmsnorm", "--device", "cpu", XDG_CACHE_HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "roofline on cpu: not measured on this machine; kbench doctor --measure\n" in done.stdout


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    done = kbench("norm/rmsnrm")
    assert (done.returncode, done.stderr) == (2, "error: no task 'norm/rmsnrm'; did you mean 'norm/rmsnorm'?\n")


def test_the_contract_names_every_tensor_axis_and_constraint() -> None:
    text = "\n".join(shown("norm/rmsnorm"))
    for expected in (
        "in   x         T[rows, cols]",
        "in   weight    T[cols]  parameter  plus 1",
        "out  y         T[rows, cols]  compared by rule",
        "rows 1..16384, cols 1..16384",
        "rows * cols <= 67108864",
        "homogeneous (weight); permutes (rows); permutes (cols)",
    ):
        assert expected in text


def test_every_language_and_abi_has_an_entry_point() -> None:
    found = shown("random/dropout")
    heads = [line.strip() for line in found if ", abi " in line]
    assert heads == [
        "cpp, abi c",
        "cpp, abi torch",
        "cuda, abi c",
        "cuda, abi torch",
        "cuda, abi launch",
        "python and triton, abi value",
        "python and triton, abi destination",
    ]
    assert any(
        line.strip().startswith("torch::Tensor dropout(torch::Tensor x, double p, int64_t seed);") for line in found
    )
    assert "    def dropout(x, p, seed, y): ...  # writes y" in found
    assert "        cudaStream_t stream);" in found


def test_the_roofline_is_that_of_the_cost() -> None:
    row = next(line for line in shown("norm/rmsnorm") if line.startswith("  float32   rows=512 cols=4096"))
    moved = (2 * 512 * 4096 + 4096) * 4
    assert f"{1e6 * moved / 1e10:.3g} us (memory)" in row
    assert "0.5 flop/byte" in row


def test_what_is_bound_by_arithmetic_says_so() -> None:
    rows = [line for line in shown("matmul/matmul") if "flop/byte" in line and line.startswith("  float32")]
    assert rows
    assert all(row.endswith("(arithmetic)") for row in rows)


def test_published_kernels_are_listed() -> None:
    assert any(line.startswith("published kernels: cpp_naive, cpp_simd") for line in shown("norm/rmsnorm"))

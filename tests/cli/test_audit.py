"""`kbench audit` as a user meets it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from robust_kbench.folders import data_folder

RIGHT = '''

def right(x, weight):
    """No mutant."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


MUTANTS += (right,)
'''


def audit(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "robust_kbench", "audit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture
def unsound(tmp_path: Path) -> Path:
    """norm/rmsnorm with a mutant that is none."""
    folder = tmp_path / "norm/rmsnorm"
    shutil.copytree(data_folder("tasks") / "norm/rmsnorm", folder, ignore=shutil.ignore_patterns("__pycache__"))
    bank = folder / "mutants.py"
    bank.write_text(bank.read_text() + RIGHT)
    return folder


@pytest.mark.rotating
def test_a_sound_task_is_admitted() -> None:
    done = audit("norm/rmsnorm", "--dtype", "float32")
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("admitted  norm/rmsnorm float32: ")
    assert "1/1 tasks admitted" in done.stdout
    assert done.stderr == ""


@pytest.mark.rotating
def test_an_unsound_one_is_refused_with_the_reason(unsound: Path) -> None:
    done = audit(unsound, "--dtype", "float32")
    assert done.returncode == 1
    assert "REFUSED  norm/rmsnorm float32: " in done.stdout
    assert "  fault    right never differs from PyTorch's answer\n" in done.stdout


@pytest.mark.rotating
def test_a_line_for_each_variant_on_demand() -> None:
    done = audit("norm/rmsnorm", "--dtype", "float32", "--variants")
    assert any(line.startswith(" non-answer zeros") for line in done.stdout.splitlines())


@pytest.mark.slow
def test_the_rules_are_printed_as_one_document() -> None:
    done = audit("norm/rmsnorm", "--dtype", "float32", "--rules")
    assert done.returncode == 0
    assert done.stdout.startswith("# Acceptance rules compared\n")
    assert "| KernelBench |" in done.stdout
    assert "admitted" not in done.stdout


@pytest.mark.slow
def test_a_soak_prints_the_largest_error_and_can_be_repeated() -> None:
    first, second = (audit("norm/rmsnorm", "--dtype", "float32", "--soak", "50", "--seed", "3") for _ in range(2))
    assert first.returncode == 0, first.stdout
    assert "judgements of honest variants of 1 tasks (seed 3): 0 rejected\n" in first.stdout
    assert first.stdout.splitlines()[-1].startswith("largest error 0.")
    assert first.stdout == second.stdout


def test_an_unknown_task_and_a_foreign_dtype_are_wrong_requests() -> None:
    assert audit("norm/rmsnrm").stderr == "error: no task 'norm/rmsnrm'; did you mean 'norm/rmsnorm'?\n"
    done = audit("norm/rmsnorm", "--dtype", "float64")
    assert (done.returncode, done.stderr) == (2, "error: --dtype float64: none of the tasks has it\n")

"""Sources of kernels for norm/rmsnorm, from the lines that differ, and remaining processes of kernels that ran."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.evaluate import Evaluator
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case

if TYPE_CHECKING:
    from conftest import Submit

SEED = 11  # its first case has more than one row and more than one column
IMPORTS = "import ctypes, gc, json, mmap, os, pickle, struct, sys, threading, time\nimport torch\n"
ANSWER = "torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)"
RIGHT, ZEROS = f"return {ANSWER}", "return torch.zeros_like(x)"

CPP_SIGNATURE = "const float* x, const float* weight, float* y, int64_t rows, int64_t cols"
CPP_HEADERS = "".join(f"#include <{name}>\n" for name in ("cerrno", "cmath", "cstdlib", "cstring", "unistd.h"))
CPP_ANSWER = """
    for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t col = 0; col < cols; ++col) sum += double(x[row * cols + col]) * x[row * cols + col];
        const double scale = 1 / std::sqrt(sum / cols + 1e-6);
        for (int64_t col = 0; col < cols; ++col)
            y[row * cols + col] = float(x[row * cols + col] * scale * weight[col]);
    }
"""


def python(body: str, before: str = "", parameters: str = "x, weight") -> str:
    """Return a kernel with this body (from line 6 on), in a module that runs `before` when it is imported."""
    head = before.strip()
    return f"{IMPORTS}{head}\n\ndef rmsnorm({parameters}):\n{textwrap.indent(body.strip(), '    ')}\n"


def native(body: str, before: str = "") -> str:
    """Return the same in C++, for abi c and float32."""
    return f'{CPP_HEADERS}{before}\nextern "C" void rmsnorm({CPP_SIGNATURE}) {{\n{body}\n}}\n'


def check_that_a_good_one_passes(evaluator: Evaluator, submit: Submit) -> None:
    """Check that earlier runs on this evaluator have cost it nothing."""
    record = evaluator.evaluate(submit(python(RIGHT)), tier="quick", seed=1, case=0)
    assert (record.status, record.reason) == ("passed", "")


def checked_cases(seed: int) -> tuple[Case, ...]:
    """Draw the cases of tier quick for a Python kernel of float32."""
    task = load_task("norm/rmsnorm").spec
    budget = BUDGETS["quick"]
    return draw_suite(task, seed, budget=budget, dtypes=("float32",), device="cpu", dense=False).checked


def arguments_of(pid: int) -> list[str]:
    """Return the command line of a process; empty when the process is gone or a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def parent_of(pid: int) -> int:
    """Return the parent of a process; 0 when the process is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:
        return 0


def processes_of(judge: int) -> list[int]:
    """List every warm process of `judge` and all processes that were forked from one, orphans included."""
    pids = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    commands = {pid: arguments_of(pid) for pid in pids}
    return [pid for pid, words in commands.items() if "robust_kbench.worker" in words and words[-1] == str(judge)]


def workers() -> list[int]:
    """List the processes that were forked from the warm processes of this judge."""
    return [pid for pid in processes_of(os.getpid()) if parent_of(pid) not in (os.getpid(), 0)]

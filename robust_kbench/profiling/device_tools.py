"""Vendor's tools that start the submission on a CUDA device: in a sandbox, bounded in time, their output in files."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robust_kbench.languages.built import Built
from robust_kbench.own_modules import confined_python
from robust_kbench.profiling.stand_ins import stand_ins
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Task
from robust_kbench.worker import gpu_nodes

_TIMEOUT_S = 300
_OUTPUT_BYTES = 1 << 20
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", gpu_nodes.VARIABLE)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a tool: its exit code, and the first mebibyte of its output and of the file that it wrote."""

    code: int
    printed: str
    written: str


def prepare(task: Task, built: Built, case: Case, folder: Path) -> list[str]:
    """Write the request, and return the command that loads and calls the submission on stand-ins under a tool."""
    request = folder / "request.json"
    request.write_text(json.dumps({**built.entry, **stand_ins(task, case)}))
    return confined_python("robust_kbench.worker.stand_in", str(request))


def run(command: Sequence[str], folder: Path, written: str, *, timeout_s: float = _TIMEOUT_S) -> Outcome:
    """Run `command`, which may write to `folder` alone, and read back its file of the name `written`.

    A command that takes longer ends with code 124.
    """
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ} | gpu_nodes.named()
    # A pool of memory would hide accesses beyond a tensor.
    own = {"LANG": "C.UTF-8", "HOME": str(folder), "TMPDIR": str(folder), "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    launcher = [sys.executable, "-I", "-m", "robust_kbench.worker.gpu_tool", str(os.getpid()), str(folder), "--"]
    with open(folder / "printed.log", "w+b") as log:
        process = subprocess.Popen(
            [*launcher, *command], cwd=folder, env=environment | own,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = 124
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.seek(0)
        printed = log.read(_OUTPUT_BYTES).decode(errors="replace")
    return Outcome(code, printed, read_regular(folder / written))


def read_regular(path: Path, limit_bytes: int = _OUTPUT_BYTES) -> str:
    """Read the beginning of a file that hostile code may have put there; empty for a link, a pipe or no file at all."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return file.read(limit_bytes).decode(errors="replace")

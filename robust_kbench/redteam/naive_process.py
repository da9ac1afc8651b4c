"""Naive harness as a process that stays: it imports PyTorch once, and judges every kernel in a copy of itself."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_TIMEOUT_S = 60
_SHOWN = 500


class NaiveProcess:
    """Process that answers requests, see naive. It starts with the first, and anew where a kernel has stopped it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def judge(self, request: Path) -> dict[str, Any]:
        """Return the verdict: passed, reason and speedup. A harness that gives no answer counts as not passed."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            print(request, file=process.stdin, flush=True)
        if not select.select([process.stdout], [], [], _TIMEOUT_S)[0]:
            self._stop()
            return _failure("timed out")
        if process.stdout.readline() != f"{request}\n":  # stopped, or somebody has written to what is not his
            self._stop()
        return _last_line(_text(request.with_suffix(".out"))) or _failure(_text(request.with_suffix(".err"))[-_SHOWN:])

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "robust_kbench.redteam.naive"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            )  # fmt: skip
        return self._process

    def _stop(self) -> None:
        """Stop the process and the copies of it that still run."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(BrokenPipeError), process:  # waits, and closes its pipes, one of which may hold a line
            pass


def _failure(reason: str) -> dict[str, Any]:
    return {"passed": False, "reason": reason, "speedup": 0.0}


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _last_line(output: str) -> dict[str, Any] | None:
    lines = output.strip().splitlines()
    try:
        told = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None

"""Run one kernel of the survey where it can harm nothing: Python files do as they like."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from robust_kbench.emulator.survey.extension import Libraries
from robust_kbench.emulator.survey.sources import Found
from robust_kbench.hostile_folders import discard, open_left
from robust_kbench.own_modules import confined_python

_TAIL = 300
_FRAMES = re.compile(r"most recent call first\):\n((?:  File .*\n){1,2})")
_NOBODY = "0"  # listens for the builder's start, see worker.builder
_SPARE_SECONDS = 3
_SIGNAL = 128  # above it, an exit code tells of a signal


@dataclass(frozen=True)
class Settings:
    """Options with which each kernel is built and run.

    `batch` lowers the models' constant `batch_size`; 0 leaves it. `packages` are folders with what models import.
    """

    seconds: int
    memory_bytes: int
    batch: int = 0
    checked: bool = False
    packages: tuple[str, ...] = ()


def run(found: Found, settings: Settings, libraries: Libraries) -> dict[str, Any]:
    """Run one kernel in a child; returns its report, or how it ended.

    A kernel that kills the process is tried again under the checker.
    """
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="kbemu-survey-"))
    try:
        result = _run_in(folder, found, settings, libraries)
    finally:
        discard(folder)
    if result.get("died") and not settings.checked:
        return {**run(found, replace(settings, checked=True), libraries), "died": True}
    return {"file": str(found.path), "kind": found.kind, "seconds": time.monotonic() - started, **result}


def _run_in(folder: Path, found: Found, settings: Settings, libraries: Libraries) -> dict[str, Any]:
    request = {
        "path": str(found.path.resolve()), "kind": found.kind, "checked": settings.checked, "batch": settings.batch,
        "reference": str(found.reference.resolve()) if found.reference else None, "cores": os.cpu_count() or 1,
        "seconds": max(1, settings.seconds - _SPARE_SECONDS),
        "packages": settings.packages, "runtime": str(libraries.runtime), "torch": str(libraries.torch),
    }  # fmt: skip
    (folder / "request.json").write_text(json.dumps(request))
    places = [found.path, *([found.reference] if found.reference else []), libraries.runtime, libraries.torch]
    with tempfile.TemporaryFile() as file:  # without a name that a kernel could give to something else
        code = _execute(folder, settings, [str(place.resolve().parent) for place in places], file)
        file.seek(0)
        log = file.read().decode(errors="replace")
    died = {"died": True} if code is not None and code > _SIGNAL else {}
    with contextlib.suppress(OSError, ValueError, RecursionError), open_left(folder / "result.json") as left:
        result = json.load(left)
        if isinstance(result, dict):
            return result | died
    reason = f"out of time in {_innermost(log)}" if code is None else f"ended with exit code {code}: {log[-_TAIL:]}"
    return {"built": None, "ran": False, "reason": reason, **died}


def _execute(folder: Path, settings: Settings, readable: list[str], log: BinaryIO) -> int | None:
    """The exit code, or None when time ran out."""
    places = os.pathsep.join([*readable, *settings.packages])
    limits = [str(os.getpid()), str(folder), str(4 * settings.seconds), str(settings.memory_bytes), places]
    builder = [*confined_python("robust_kbench.worker.builder"), *limits, _NOBODY, "--"]
    command = [*builder, *confined_python("robust_kbench.emulator.survey.child", str(folder / "request.json"))]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "TMPDIR": str(folder)}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )
    try:
        return process.wait(settings.seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _innermost(log: str) -> str:
    """The innermost frames of the main thread, which the child printed shortly before its time was over."""
    frames = _FRAMES.findall(log)
    return " ".join(frames[-1].split()) if frames else "its first seconds"

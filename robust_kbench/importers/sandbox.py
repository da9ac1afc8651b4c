"""Ask a child process that runs foreign Python, where it can harm nothing, and believe nothing that it says unchecked.

The child sees the files of its own folder, the system's and this package's, has no network, and ends when its time or
memory does. What it reports is read as JSON of bounded size and parsed strictly.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import BinaryIO

from robust_kbench.errors import HarnessError, SpecError
from robust_kbench.hostile_folders import discard, open_left
from robust_kbench.importers.description import Report, Request
from robust_kbench.own_modules import confined_python
from robust_kbench.schema.documents import parse
from robust_kbench.worker.builder import NOBODY

REQUEST, RESULT, TASK = "request.json", "result.json", "task"
_MEMORY_BYTES = 14 << 30
_RESULT_BYTES = 8 << 20
_TAIL = 300
_LOOKS_EVERY_S = 0.05
_IMPORTED_S = 60


def ask(request: Request, *, seconds: int, stop: Event, files: Mapping[str, Path] | None = None) -> Report:
    """The answer of a child to `request`; `files` are folders that it finds in its own, under their names.

    A child that dies, takes too long or answers nonsense is an answer with an `error`. It ends when `stop` is set.
    """
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="kbench-import-"))
        stack.callback(discard, folder)  # a foreign problem may nest deeper than Python's own way recurses
        forbidden = stack.enter_context(tempfile.NamedTemporaryFile())
        request = request.model_copy(update={"forbidden": forbidden.name})
        for title, source in (files or {}).items():
            shutil.copytree(source, folder / title)
        (folder / REQUEST).write_text(request.model_dump_json())
        with tempfile.TemporaryFile() as log:  # without a name that a foreign problem could give to something else
            code = _execute(folder, seconds, stop, log)
            return _answer(folder, code, seconds, log)


def _imports_this_package() -> bool:
    """Tell if a child that is asked for nothing ends as one that has been imported."""
    with tempfile.TemporaryDirectory(prefix="kbench-import-") as name, tempfile.TemporaryFile() as log:
        _execute(Path(name), _IMPORTED_S, Event(), log)
        log.seek(0)
        return b"No module named" not in log.read()


def _execute(folder: Path, seconds: int, stop: Event, log: BinaryIO) -> int | None:
    """The exit code, or None when time ran out, or nobody waits any longer."""
    limits = [str(os.getpid()), str(folder), str(seconds), str(_MEMORY_BYTES), ""]
    builder = [*confined_python("robust_kbench.worker.builder"), *limits, NOBODY, "--"]
    command = [*builder, *confined_python("robust_kbench.importers.child", str(folder))]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    environment |= {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        start_new_session=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < deadline and not stop.wait(_LOOKS_EVERY_S):
            pass
        return process.poll()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answer(folder: Path, code: int | None, seconds: int, log: BinaryIO) -> Report:
    try:
        result = open_left(folder / RESULT)
    except OSError:
        return Report(error=f"out of time after {seconds} s" if code is None else _died(log, code))
    try:
        with result as file:
            data = json.loads(file.read(_RESULT_BYTES + 1)[:_RESULT_BYTES])
        return parse(Report, data, "what the sandbox reports")
    except (SpecError, ValueError, RecursionError, OSError) as error:
        return Report(error=f"the answer of the sandbox is none: {error}"[:_TAIL])


def _died(log: BinaryIO, code: int) -> str:
    log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
    words = log.read().decode(errors="replace").strip().splitlines()[-1:]
    # A foreign problem may say so, too: only a child without one is believed.
    if words and re.search("No module named '?robust_kbench", words[0]) and not _imports_this_package():
        raise HarnessError(f"the sandbox cannot import this package: {words[0]}")
    return f"ended with exit code {code}: {words[0] if words else 'it said nothing'}"

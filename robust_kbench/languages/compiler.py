"""Run a compiler on hostile source: sandboxed, bounded in time, memory and output, in an environment of our making."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from robust_kbench.errors import BuildError, HarnessError, remedy
from robust_kbench.languages.built import SOURCES
from robust_kbench.own_modules import confined_python

BUILDER_COMMAND = tuple(confined_python("robust_kbench.worker.builder"))
_LEAST_DISK_BYTES = 32 << 20
_LOG_CHARACTERS = 4000
_FIRST_ERROR = re.compile(r"^.*?(?:error|undefined reference|not defined)\b.*$", re.MULTILINE | re.IGNORECASE)


class Stop:
    """Switch that ends compilers whose output is no longer wanted: an interrupt reaches the main thread alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_set = False

    def set(self) -> None:
        """End the processes that run under this switch, and any that start under it later."""
        with self._lock:
            self._is_set = True
            for process in self._running:
                _kill_session(process)

    @contextlib.contextmanager
    def over_this_thread(self) -> Iterator[None]:
        """Put every compiler that this thread runs in the block under this switch."""
        before = getattr(_OF_THREAD, "stop", None)
        _OF_THREAD.stop = self
        try:
            yield
        finally:
            _OF_THREAD.stop = before

    @contextlib.contextmanager
    def over(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """End `process` when this is set, and raise KeyboardInterrupt: any further attempt would be of no use."""
        with self._lock:
            self._running.add(process)
            if self._is_set:
                _kill_session(process)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(process)
                is_set = self._is_set
            if is_set:
                raise KeyboardInterrupt


_OF_THREAD = threading.local()


def run(
    command: Sequence[str],
    folder: Path,
    *,
    timeout_s: int,
    memory_bytes: int = 4 << 30,
    max_characters: int = _LOG_CHARACTERS,
    readable: Sequence[Path] = (),
) -> str:
    """Run `command` in `folder` and return the first `max_characters` of its output.

    The command may read `readable`, too, beside the paths that every sandbox may read (see worker.readable).

    Raises BuildError with the first error when it fails, or when it takes longer than `timeout_s`.
    """
    code, output = run_verbatim(command, folder, timeout_s=timeout_s, memory_bytes=memory_bytes, readable=readable)
    output = output.replace(f"{folder}/", "").replace(f"{SOURCES}/", "")
    if code != 0:
        raise BuildError(_first_error(output, code), output[:_LOG_CHARACTERS])
    return output[:max_characters]


def run_verbatim(
    command: Sequence[str], folder: Path, *, timeout_s: int, memory_bytes: int = 4 << 30, readable: Sequence[Path] = ()
) -> tuple[int, str]:
    """Run `command` in the same way, and return its exit code and the first mebibyte of its output.

    No file in `folder` is opened here: it may have been replaced by a link to a file that only the judge may touch.
    Raises KeyboardInterrupt when the thread's `Stop` is set, and HarnessError where no compiler can be started.
    """
    _check_disk(folder)
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }
    limits = [str(os.getpid()), str(folder), str(timeout_s), str(memory_bytes), os.pathsep.join(map(str, readable))]
    with tempfile.TemporaryFile() as log, _Started() as started:
        process = subprocess.Popen(
            [*BUILDER_COMMAND, *limits, str(started.theirs), "--", *command],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            pass_fds=[started.theirs],
        )  # fmt: skip
        try:
            with (getattr(_OF_THREAD, "stop", None) or Stop()).over(process):
                code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise BuildError(f"the compiler did not finish within {timeout_s} s") from None
        finally:
            _kill_session(process)
            process.wait()
        log.seek(0)
        printed = log.read(1 << 20).decode(errors="replace")
    if not started.is_told:
        words = f"the builder did not start; its last words: {(printed.strip().splitlines() or ['none'])[-1][:300]}"
        raise HarnessError(words + remedy(words))
    return code, printed


class _Started:
    """Pipe on which the builder says that it runs, before hostile code does: any earlier failure is our fault."""

    is_told = False

    def __enter__(self) -> Self:
        self._ours, self.theirs = os.pipe()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.theirs)
        os.set_blocking(self._ours, False)
        with contextlib.suppress(BlockingIOError):
            self.is_told = bool(os.read(self._ours, 1))
        os.close(self._ours)


def _check_disk(folder: Path) -> None:
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < _LEAST_DISK_BYTES:
        mebibytes = free_bytes >> 20
        raise HarnessError(f"{folder}: {mebibytes} MiB are free; make room there, or set TMPDIR to another folder")


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _first_error(output: str, code: int) -> str:
    match = _FIRST_ERROR.search(output)
    return match.group(0).strip()[:500] if match else f"the compiler ended with exit code {code}"

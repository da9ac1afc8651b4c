"""The parent's end of `child.py`: it asks the child to run kernels, and starts a new one after a kernel killed it."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

_CHILD = Path(__file__).with_name("child.py")
# The child imports the package from where this one did.
_ROOT = Path(__file__).parents[2]


class Crashed(Exception):
    """The process died, or did not answer in time, while it ran a kernel."""


class Worker:
    """A process that lives as long as nothing kills it."""

    def __init__(self, timeout_s: float = 120.0) -> None:
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request to the child and return its answer. Raises Crashed."""
        process = self._process = self._process or _start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = self._line(process)
        except BrokenPipeError:
            line = ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.stop()
        raise Crashed(f"the process ended with {process.returncode}")

    def _line(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(self._timeout_s):
                self.stop()
                raise Crashed(f"no answer within {self._timeout_s:.0f} s")
        return process.stdout.readline()

    def stop(self) -> None:
        """End the child; the next request starts another."""
        if self._process is None:
            return
        self._process.kill()
        self._process.communicate()
        self._process = None


def _start() -> subprocess.Popen[str]:
    command = [sys.executable, str(_CHILD)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT)

"""Conversation with a program through its pipes: prompt in, output back, within limits of time and size."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from typing import IO

from robust_kbench.agents.providers.outside import MAX_ANSWER_BYTES
from robust_kbench.isolation import processes

_CHUNK, _END_OF_SAID = 1 << 16, 1 << 16
_TICK_S = 0.05


class Flood(Exception):
    """Error raised when a program writes more output than the limit."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(limit_bytes)
        self.limit_bytes = limit_bytes


def converse(
    process: subprocess.Popen[bytes], prompt: bytes, timeout_s: float, limit_bytes: int = MAX_ANSWER_BYTES
) -> tuple[int, bytes, bytes]:
    """Send the prompt; return the exit code, all of stdout, and the end of stderr.

    `process` is unbuffered, leads a session of its own, and has three pipes. Whatever happens, it and all of its group
    have ended afterwards. Where it did not end by itself, its other descendants have ended, too. A program need not
    read its prompt. A program that has ended is not waited for when a process that it started keeps a pipe open. Raises
    TimeoutError and Flood.
    """
    talk = _Talk(process, prompt, limit_bytes)
    try:
        talk.until_it_ends(time.monotonic() + timeout_s)
        _kill_group(process)
        talk.read_what_is_left()
    except BaseException:
        processes.kill_tree(process.pid)
        raise
    finally:
        _kill_group(process)
        code = process.wait()
        talk.close()
    return code, bytes(talk.output), bytes(talk.said)


class _Talk:
    """Three pipes of a program, and the data that has come through them."""

    def __init__(self, process: subprocess.Popen[bytes], prompt: bytes, limit_bytes: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process, self._unsent, self._limit = process, memoryview(prompt), limit_bytes
        self._stdin: IO[bytes] = process.stdin
        self._stdout: IO[bytes] = process.stdout
        self._stderr: IO[bytes] = process.stderr
        self.output, self.said = bytearray(), bytearray()
        self._ready = selectors.DefaultSelector()
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
            self._ready.register(pipe, selectors.EVENT_WRITE if pipe is self._stdin else selectors.EVENT_READ)

    def until_it_ends(self, deadline: float) -> None:
        """Serve the pipes until the program ends. Raises TimeoutError and Flood."""
        while not _has_ended(self._process):
            if time.monotonic() > deadline:
                raise TimeoutError
            for key, _ in self._ready.select(_TICK_S):
                if key.fileobj is self._stdin:
                    self._send()
                else:
                    self._receive(self._stdout if key.fileobj is self._stdout else self._stderr)

    def read_what_is_left(self) -> None:
        """Read the output that an ended program left in the pipes. Raises Flood, for others may still write to them."""
        while self._receive(self._stdout):
            pass
        self._receive(self._stderr)

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it does not want to hear the rest
            self._unsent = self._unsent[:0]
        if not self._unsent:
            self._leave(self._stdin)

    def _receive(self, pipe: IO[bytes]) -> bool:
        """Read a part from the pipe, and tell if there was something to read."""
        if pipe.closed:
            return False
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._leave(pipe)
        elif pipe is self._stdout:
            self.output += data
            if len(self.output) > self._limit:
                raise Flood(self._limit)
        else:
            self.said += data
            del self.said[:-_END_OF_SAID]
        return bool(data)

    def _leave(self, pipe: IO[bytes]) -> None:
        self._ready.unregister(pipe)
        pipe.close()

    def close(self) -> None:
        """Close all descriptors of the conversation."""
        self._ready.close()
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Tell if the process has ended, without reaping it, so that its number, also its group's, stays its own."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

"""Worker that is no process of its own: it loads and calls the submission in the judge's. Only for trials."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from robust_kbench.isolation.arena import Slots
from robust_kbench.isolation.process import Reply
from robust_kbench.isolation.protocol import Answer, Loaded, Raised, parse_answer
from robust_kbench.isolation.resident import Used
from robust_kbench.worker import arguments, devices, loaders, wire


class InsideWorker:
    """Stand-in for isolation.process.Worker, with the members that callers use."""

    layers: tuple[str, ...] = ()
    log = ""
    may_start_processes = True
    is_surely_gone = True

    def __init__(self, arena: Slots) -> None:
        self.pid = os.getpid()
        self.scratch = Path(tempfile.mkdtemp(prefix="kbench-inside-"))
        self.arena = arena
        lent = arena.lend()
        self._arena = arguments.Arena(lent, arena.size_bytes)
        os.close(lent)
        self._kernel: Callable[..., Any] = _nothing
        self._kept: object = None
        self.used = Used()

    def load(self, request: dict[str, Any], *, spin: bool, timeout_s: float) -> Loaded | Raised:
        """Import the submission in this process."""
        self._abi = request["abi"]
        try:
            self._kernel = loaders.load(request)
        except Exception as error:
            return _raised(error)
        return Loaded(nonce=0, outcome="loaded")

    def call(
        self,
        request: dict[str, Any],
        before_clock: Callable[[], None],
        before_rehearsal: Callable[[], None] | None = None,
        *,
        scalars: bytes = b"",
        copy_out: bool,
        timeout_s: float,
    ) -> Reply:
        """Call the kernel in this process."""
        call = devices.CpuDevice().prepare(self._abi, self._arena, {**request, "copy_out": copy_out})
        if before_rehearsal is not None:
            before_rehearsal()
        before_clock()
        call.receive(wire.unpack_scalars(wire.places_of_scalars(request["inputs"]), scalars))
        started = time.perf_counter_ns()
        try:
            told = call.run(self._kernel)
        except Exception as error:
            answer: Answer = _raised(error)
        else:
            answer = parse_answer(json.dumps({"nonce": 0, **told}).encode(), 0)
        elapsed_ns = time.perf_counter_ns() - started
        self._kept = call
        return Reply(answer, elapsed_ns)

    def tree(self) -> list[int]:
        """List the judge's process, the only one there is."""
        return [self.pid]

    def park(self) -> None:
        """Do nothing: a process cannot stop itself and look on."""

    kill = check_parked = park

    def close(self) -> None:
        """Delete its folder; nothing else can be taken back."""
        shutil.rmtree(self.scratch, ignore_errors=True)


def _nothing(*arguments: Any) -> None:
    """Stand in for a kernel that was not loaded."""


def _raised(error: Exception) -> Raised:
    where = ""
    with contextlib.suppress(IndexError):
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    return Raised(nonce=0, outcome="raised", type=type(error).__name__, message=str(error)[:4000], where=where)

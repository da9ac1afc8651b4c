"""Rewrite hostile CUDA sources for the emulator: in a sandbox, bounded in time and memory like a compiler's work."""

from __future__ import annotations

import json
from pathlib import Path

from robust_kbench.emulator import child
from robust_kbench.errors import BuildError, HarnessError, Unsupported
from robust_kbench.languages import compiler
from robust_kbench.languages.built import SOURCES, write_sources
from robust_kbench.own_modules import confined_python
from robust_kbench.schema.submission import Submission

_CPU_SECONDS = 30  # the longest of our own kernels takes 0.2
_TIMEOUT_S = 120
_MEMORY_BYTES = 1 << 30
_TAIL = 300


def write_rewritten(submission: Submission, folder: Path) -> bool:
    """Write the sources into `folder` as the emulator compiles them; tell if they spin (see Rewritten).

    Raises Unsupported for what the emulator cannot run, and BuildError for what takes too much time or memory.
    """
    write_sources(submission, folder)
    command = confined_python(child.__name__, str(folder / SOURCES), str(_CPU_SECONDS), *submission.sources)
    try:
        code, printed = compiler.run_verbatim(command, folder, timeout_s=_TIMEOUT_S, memory_bytes=_MEMORY_BYTES)
    except BuildError:
        raise BuildError(f"the sources take more than {_TIMEOUT_S} s to rewrite; write them shorter") from None
    *_, last = ["it said nothing", *printed.strip().splitlines()]
    try:
        answer = json.loads(last)
    except ValueError:
        raise _died(code, last[:_TAIL]) from None
    if "unsupported" in answer:
        raise Unsupported(answer["unsupported"])
    if "error" in answer:
        raise BuildError(answer["error"], answer["log"])
    return bool(answer["spins"])


def _died(code: int, last: str) -> BuildError | HarnessError:
    if code == 1 and "No module named" in last:  # before any source was read
        return HarnessError(f"the sandbox cannot import this package: {last}")
    return BuildError(f"rewriting the sources for the emulator ended with exit code {code}: {last}; write them shorter")

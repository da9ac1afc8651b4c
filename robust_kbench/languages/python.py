"""Python: nothing to build; the worker imports the entry file."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from robust_kbench.languages import compiler
from robust_kbench.languages.built import SOURCES, Built, write_sources
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import DeviceKind, FloatDType, Task

_TIMEOUT_S = 20
_PARSE = """
import sys
for name in sys.argv[1:]:
    try:
        with open(name, "rb") as file:
            compile(file.read(), name, "exec", dont_inherit=True)
    except SyntaxError as error:
        sys.exit(f"{name}:{error.lineno or 1}: SyntaxError: {error.msg}\\n    {(error.text or '').strip()}")
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        sys.exit(f"{name}:1: {type(error).__name__}: {error}")
"""
_parsed: set[str] = set()
"""Digests of submissions without a syntax error, a hundred bytes each."""


def build(submission: Submission, task: Task, dtype: FloatDType, device: DeviceKind, folder: Path) -> Built:
    """Write the sources and parse them. Raises BuildError for a syntax error."""
    path = write_sources(submission, folder)
    check_syntax(submission, folder)
    # Python may call torch.compile or load_inline, which start compilers.
    built = Built(path, submission.symbol, submission.abi, home=folder / SOURCES, sources=submission.sources)
    return replace(built, compiles_at_run_time=True)


def check_syntax(submission: Submission, folder: Path) -> None:
    """Parse every Python file, in a process with limits: parsing can take time quadratic in a file's length.

    What has been parsed before is not parsed again: a baseline is built for every submission, and both for every dtype.
    Raises BuildError with file, line and the parser's message.
    """
    files = [f"{SOURCES}/{name}" for name in submission.sources if name.endswith(".py")]
    if files and submission.digest not in _parsed:
        compiler.run([sys.executable, "-I", "-c", _PARSE, *files], folder, timeout_s=_TIMEOUT_S)
        _parsed.add(submission.digest)

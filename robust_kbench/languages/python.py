"""Python: nothing to build; the worker imports the entry file."""

from __future__ import annotations

from pathlib import Path

from robust_kbench.errors import BuildError
from robust_kbench.languages.built import Built, write_sources
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import DeviceKind, FloatDType, Task


def build(submission: Submission, task: Task, dtype: FloatDType, device: DeviceKind, folder: Path) -> Built:
    """Write the sources and parse them. Raises BuildError for a syntax error."""
    path = write_sources(submission, folder)
    check_syntax(submission)
    # Python may call torch.compile or load_inline, which start compilers.
    return Built(path, submission.symbol, submission.abi, compiles_at_run_time=True)


def check_syntax(submission: Submission) -> None:
    """Parse every Python file. Raises BuildError with file, line and the parser's message."""
    for name, text in submission.sources.items():
        if name.endswith(".py"):
            try:
                compile(text, name, "exec", dont_inherit=True)
            except SyntaxError as error:
                raise BuildError(f"{name}:{error.lineno}: {error.msg}", error.text or "") from None
            except (ValueError, RecursionError, MemoryError) as error:
                raise BuildError(f"{name}: {error or type(error).__name__}") from None

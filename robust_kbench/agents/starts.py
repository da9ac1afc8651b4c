"""Starts of runs: a kernel of the package that is slow on purpose, or only the form of a submission.

A demonstration start names its choices, such as tile sizes and orders of loops, in lines that end in `// choices:` with
all values. Every combination of them is a right kernel.
"""

from __future__ import annotations

from pathlib import Path

from robust_kbench.errors import UsageError
from robust_kbench.registry import LoadedTask, read_submission
from robust_kbench.schema.documents import shown
from robust_kbench.schema.submission import Abi, Language, Submission, SubmissionFile, usual_symbol
from robust_kbench.schema.task import FloatDType

DEMO, REFERENCE = "demo", "reference"
"""Words that may stand where a folder with a start is asked for."""
_FOLDER = Path(__file__).parent / "starts"
_SUFFIXES: dict[Language, str] = {"python": "py", "triton": "py", "cpp": "cpp", "cuda": "cu"}
_ABIS: dict[Language, Abi] = {"python": "value", "triton": "value", "cpp": "c", "cuda": "c"}
_DTYPE: FloatDType = "float32"


def usual_language(device: str) -> Language:
    """Return the language of kernels for this kind of device, where no other one is asked for."""
    return "cuda" if device == "cuda" else "cpp"


def demonstrations() -> list[str]:
    """List the tasks that have a start in the package."""
    return sorted(read_submission(folder).file.task for folder in _folders())


def demonstration(task: str) -> Submission:
    """Return the package's start for this task. Raises UsageError where there is none."""
    for folder in _folders():
        found = read_submission(folder)
        if found.file.task == task:
            return found
    there = ", ".join(demonstrations())
    raise UsageError(f"--start demo: {shown(task)} has no start in the package; there are starts of {there}")


def form_of(task: LoadedTask, language: Language) -> Submission:
    """Return a submission whose kernel is still to be written, for runs that start from the reference.

    It declares one dtype, float32 where the task has it, as the agents' sources do. A user who wants others gives a
    start.
    """
    symbol, file = usual_symbol(task.spec.name, language), f"kernel.{_SUFFIXES[language]}"
    header = SubmissionFile(
        task=task.spec.name,
        language=language,
        abi=_ABIS[language],
        entry_point=f"{file}::{symbol}",
        dtypes=(_DTYPE if _DTYPE in task.spec.dtypes else task.spec.dtypes[0],),
    )
    return Submission(name=symbol, file=header, sources={file: ""})


def _folders() -> list[Path]:
    return sorted(folder for folder in _FOLDER.iterdir() if folder.is_dir())

"""Triton: compiled at run time on a CUDA device, interpreted on the cpu device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from robust_kbench.languages.built import SOURCES, Built, write_sources
from robust_kbench.languages.python import check_syntax
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import DeviceKind, FloatDType, Task

BFLOAT16_REASON = "bfloat16 cannot be judged under Triton's interpreter, which computes it wrongly; use --device cuda"


def build(submission: Submission, task: Task, dtype: FloatDType, device: DeviceKind, folder: Path) -> Built:
    """Write the sources and parse them. Raises BuildError for a syntax error."""
    path = write_sources(submission, folder)
    check_syntax(submission, folder)
    built = Built(path, submission.symbol, submission.abi, home=folder / SOURCES, sources=submission.sources)
    if device == "cpu":
        return replace(built, execution="interpreted", flavour="triton")
    return replace(built, compiles_at_run_time=True)

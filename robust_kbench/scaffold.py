"""Scaffold of `kbench new`: a submission that passes at once, to be made fast."""

from __future__ import annotations

import ast
from pathlib import Path

from robust_kbench.errors import UsageError
from robust_kbench.languages import signature
from robust_kbench.registry import SUBMISSION_FILE, LoadedTask, baselines_of, read_submission
from robust_kbench.schema.submission import Submission, usual_symbol


def scaffold(task: LoadedTask, language: str, folder: Path) -> list[Path]:
    """Write a correct submission for `task` into the new or empty `folder`, and return the files.

    Python starts from the task's own reference; the other languages from a published kernel of the same task. Raises
    UsageError when the folder is in use or nothing correct to start from exists.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: already exists and is not empty; choose another directory")
    files = _from_reference(task) if language == "python" else _from_baseline(task, language)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [folder / name for name in files]


def _from_reference(task: LoadedTask) -> dict[str, str]:
    symbol = usual_symbol(task.spec.name, "python")
    tree = ast.parse(task.reference)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if "reference" not in names:
        raise UsageError(f"{task.spec.name}: its reference is not a plain function; start from a kernel in baselines/")
    source = task.reference.replace("def reference(", f"def {symbol}(")
    return {SUBMISSION_FILE: _header(task, "python", "value", f"kernel.py::{symbol}"), "kernel.py": source}


def _from_baseline(task: LoadedTask, language: str) -> dict[str, str]:
    published = [read_submission(folder) for folder in baselines_of(task.spec.name)]
    usual = [kernel for kernel in published if kernel.file.language == language and not kernel.file.launches]
    start = min(usual, key=_simplicity, default=None)
    if start is None:
        known = sorted({kernel.file.language for kernel in published} | {"python"})
        shape = (
            signature.declaration(task.spec, language, usual_symbol(task.spec.name, language))
            if language in ("cpp", "cuda")
            else ""
        )
        hint = f"; the entry point to write is\n{shape};" if shape else ""
        raise UsageError(f"no {language} kernel of {task.spec.name} to start from; known: {', '.join(known)}{hint}")
    return {SUBMISSION_FILE: _header(task, language, start.abi, start.file.entry_point, start), **start.sources}


def _simplicity(kernel: Submission) -> int:
    return sum(len(text) for text in kernel.sources.values())


def _header(task: LoadedTask, language: str, abi: str, entry_point: str, start: Submission | None = None) -> str:
    lines = [f"task: {task.spec.name}", f"language: {language}", f"abi: {abi}", f"entry_point: {entry_point}"]
    if start and start.file.dtypes:
        lines.append(f"dtypes: [{', '.join(start.file.dtypes)}]")
    if start and start.file.build:
        lines.append(f"build: [{', '.join(start.file.build)}]")
    return "\n".join([*lines, ""])

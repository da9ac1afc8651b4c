"""Kernels below a folder: torch extensions in CUDA, and models in Python that compile CUDA when imported."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_MODULE = re.compile(r"\bPYBIND11_MODULE\b|\bTORCH_LIBRARY\b")
_COMPILES = re.compile(r"\bload_inline\b|\bcpp_extension\b")
_CUDA = re.compile(r"__global__|\.cu\b")
_MODEL = re.compile(r"^class (Model|ModelNew)\b", re.MULTILINE)
_INPUTS = re.compile(r"^def get_inputs\b", re.MULTILINE)


@dataclass(frozen=True)
class Found:
    """Kernel of the survey. A model is compared with the `Model` of `reference`, which may be the same file."""

    path: Path
    kind: Literal["extension", "model"]
    reference: Path | None = None


def find(folder: Path) -> Iterator[Found]:
    """Yield every kernel that the survey runs, in the order of paths; of files with the same text, the first."""
    seen: set[str] = set()
    references: list[Path] | None = None
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".cu", ".py") or not path.is_file():
            continue
        text = path.read_text(errors="replace")
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest in seen:
            continue
        if path.suffix == ".cu" and _MODULE.search(text):
            yield Found(path, "extension")
        elif path.suffix == ".py" and _is_model(text):
            if references is None:
                references = [file for file in sorted(folder.rglob("*.py")) if _is_reference(file)]
            yield Found(path, "model", _reference_of(path, text, references))
        else:
            continue
        seen.add(digest)


def _is_model(text: str) -> bool:
    return all(pattern.search(text) for pattern in (_COMPILES, _CUDA, _MODEL))


def _is_reference(path: Path) -> bool:
    text = path.read_text(errors="replace")
    return bool(_INPUTS.search(text)) and "class Model(" in text


def _compiles(path: Path) -> bool:
    return bool(_COMPILES.search(path.read_text(errors="replace")))


def _reference_of(path: Path, text: str, references: list[Path]) -> Path | None:
    """Return the file itself if it has both classes, else the file of the same level and number (level_2/99_*.py).

    If there are several such files, one without a kernel of its own is preferred. None if there is no such file.
    """
    if set(_MODEL.findall(text)) == {"Model", "ModelNew"} and _INPUTS.search(text):
        return path
    wanted = path.parent.name, _number(path)
    matching = [file for file in references if (file.parent.name, _number(file)) == wanted and file != path]
    return min(matching, key=_compiles, default=None)


def _number(path: Path) -> str | None:
    match = re.search(r"\d+", path.stem)
    return match.group() if match else None

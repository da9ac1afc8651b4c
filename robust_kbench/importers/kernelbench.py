"""KernelBench's problems: one Python file each, with Model, get_inputs and get_init_inputs.

The format is that of Ouyang et al. 2025, arXiv:2502.10517.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from robust_kbench.errors import SpecError
from robust_kbench.importers.description import Found, Request, Unread
from robust_kbench.importers.foreign_files import files_below, is_file, read_each, read_source

_CLASS, _INPUTS = re.compile(r"^class Model\b", re.MULTILINE), re.compile(r"^def get_inputs\b", re.MULTILINE)
_NUMBERED = re.compile(r"(\d+)_(.*)")
_LEVEL = re.compile(r"level_?\d+", re.IGNORECASE)
_LONGEST_OP = 54
PAPER = "arXiv:2502.10517"


def find(source: Path, only: str = "", unread: list[Unread] | None = None) -> list[Found]:
    """Every problem that `source` is or holds, in order of levels and numbers.

    `only` is a regular expression that a path has to match. What cannot be read is added to `unread`; raises SpecError
    for it by default.
    """
    files = (
        [source] if source.is_file() else [path for path in files_below(source, "*.py") if _is_numbered(path, source)]
    )
    chosen = [path for path in sorted(files, key=_order) if re.search(only, str(path))]
    return list(read_each(chosen, _read, unread))


def _is_numbered(path: Path, root: Path) -> bool:
    return bool(_NUMBERED.fullmatch(path.stem)) and is_file(path) and not path.is_symlink() and root in path.parents


def _order(path: Path) -> tuple[str, int, str]:
    match = _NUMBERED.fullmatch(path.stem)
    return str(path.parent), int(match[1]) if match else 0, path.name


def _read(path: Path) -> Iterator[Found]:
    text = read_source(path)
    if _CLASS.search(text) and _INPUTS.search(text):
        yield Found(str(path), "kernelbench", _request(path, text))


def _request(path: Path, text: str) -> Request:
    level = _LEVEL.fullmatch(path.parent.name)
    family = f"kernelbench_{level[0].lower().replace('_', '')}" if level else "kernelbench"
    place = f"{path.parent.name}/{path.name}" if level else path.name
    title = re.sub(r"[^\w.,()+ -]", " ", (_NUMBERED.fullmatch(path.stem) or [path.stem] * 3)[2].replace("_", " "))
    summary = f"KernelBench {place}: {' '.join(title.split())}."
    return Request(
        what="model", name=f"{family}/{op_name(path.stem)}", source=text,
        summary=summary[:170], origin=f"KernelBench, {PAPER}, {place}"[:300],
    )  # fmt: skip


def op_name(stem: str) -> str:
    """`19_ReLU` as p019_relu. Raises SpecError where nothing is left of it."""
    match = _NUMBERED.fullmatch(stem)
    words = re.sub(r"[^a-z0-9]+", "_", (match[2] if match else stem).lower()).strip("_")
    name = f"p{int(match[1]):03d}_{words}" if match else words
    name = name[:_LONGEST_OP].strip("_")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise SpecError(f"{stem}: no name for a task can be made of it; rename the file")
    return name

"""The list of tasks without their contracts: what `kbench tasks` prints, read without importing pydantic or torch."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Entry(NamedTuple):
    """One line of the list."""

    name: str
    summary: str
    dtypes: tuple[str, ...]
    precision: str


def entries(root: Path, pattern: str = "*") -> list[Entry]:
    """Tasks below `root` whose name matches the shell pattern or contains it, in order of their names."""
    found = []
    for path in sorted(root.glob("*/*/task.yaml")):
        name = "/".join(path.parts[-3:-1])
        if fnmatch(name, pattern) or pattern in name:
            data = yaml.load(path.read_text(), Loader=_LOADER)  # noqa: S506 - a safe loader
            found.append(Entry(name, str(data["summary"]), tuple(data["dtypes"]), str(data.get("precision", "ieee"))))
    return found

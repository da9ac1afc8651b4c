"""List of the tasks without their contracts, as `kbench tasks` prints it, read without pydantic or torch.

The tags of a task are its own, the suites of `suites.yaml` with a problem that it stands for, and `backward`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import yaml

SUITES_FILE = "suites.yaml"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Suites = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Map from a suite to its problems, and from each problem to the native tasks that stand for it."""


class Entry(NamedTuple):
    """Entry of the list: a task's name, summary, dtypes, precision and tags."""

    name: str
    summary: str
    dtypes: tuple[str, ...]
    precision: str
    tags: tuple[str, ...]

    @property
    def family(self) -> str:
        """First part of the task's name, before the op."""
        return self.name.partition("/")[0]

    def is_called(self, pattern: str) -> bool:
        """Tell if the name matches the shell pattern or contains it."""
        return fnmatch(self.name, pattern) or pattern in self.name


def entries(root: Path) -> list[Entry]:
    """List all tasks below `root` in order of their names."""
    suites_of = _suites_of_tasks(suites(root))
    named = [("/".join(path.parts[-3:-1]), path) for path in sorted(root.glob("*/*/task.yaml"))]
    return [_entry(name, _read(path), suites_of.get(name, ())) for name, path in named]


def suites(root: Path) -> Suites:
    """Read the suites of the registry at `root`; empty if it has no `suites.yaml`."""
    path = root / SUITES_FILE
    if not path.is_file():
        return {}
    return {suite: {str(p): tuple(tasks) for p, tasks in problems.items()} for suite, problems in _read(path).items()}


def _entry(name: str, data: Mapping[str, Any], suites: tuple[str, ...]) -> Entry:
    backward = ("backward",) if name.endswith("_backward") else ()
    tags = sorted({*data.get("tags", ()), *suites, *backward})
    return Entry(name, str(data["summary"]), tuple(data["dtypes"]), str(data.get("precision", "ieee")), tuple(tags))


def _suites_of_tasks(known: Suites) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for suite, problems in known.items():
        for task in {task for tasks in problems.values() for task in tasks}:
            found[task] = (*found.get(task, ()), suite)
    return found


def _read(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader
    return data

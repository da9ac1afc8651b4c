"""Figures of papers about their agents, as published: on other hardware, by other rules and with other models.

Orderings may be compared with ours; no figure has to be reached. Files of `published/` hold a figure a line, with its
source and the way in which it is known. A figure that is marked in `note` is doubtful in its source, too.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from typing import Any

STATUS = "as published"
_SHARES = ("success", "fast_1", "fast_1_compile", "validity", "compile_rate", "accuracy", "execution_accuracy")


@dataclass(frozen=True)
class Figure:
    """Number from a paper. `agent` is the preset that follows the method, if there is one; shares are 0 to 1."""

    paper: str
    table: str
    hardware: str
    tasks: str
    agent: str
    method: str
    llm: str
    subject: str
    metric: str
    value: float
    evidence: str
    note: str
    status: str

    @property
    def row(self) -> tuple[str, ...]:
        """Key of a table's row: figures with the same key stand in one row."""
        return (self.paper, self.table, self.hardware, self.tasks, self.agent, self.method, self.llm, self.subject)

    def __str__(self) -> str:
        name = self.metric.replace("_", " ")
        if self.metric in _SHARES:
            text = f"{name} {self.value:.1%}"
        elif self.metric.endswith("_ms"):
            text = f"{self.value:g} ms"
        elif self.metric.endswith("_usd"):
            text = f"{name.removesuffix(' usd')} ${self.value:g}"
        else:
            text = f"{name} {self.value:g}x"
        return f"{text} ({self.note})" if self.note else text


def names() -> list[str]:
    """Return the names of the files with published figures."""
    folder = resources.files("robust_kbench.agents") / "published"
    return sorted(file.name for file in folder.iterdir() if file.name.endswith(".csv"))


def load() -> list[Figure]:
    """Load all published figures, file by file."""
    return [figure for name in names() for figure in _read(name)]


def _read(name: str) -> list[Figure]:
    text = (resources.files("robust_kbench.agents") / "published" / name).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = list(csv.DictReader(text.splitlines()))
    return [Figure(**{**row, "value": float(row["value"])}) for row in rows]


def to_markdown(agents: Collection[str]) -> str:
    """Format a table of the figures published about these presets; empty where there are none."""
    found = [figure for figure in load() if figure.agent in agents]
    return "\n".join([_HEAD, *_rows(found), ""]) if found else ""


_HEAD = """\
| follows | published as | model | hardware | tasks | figures | source | known from |
|---|---|---|---|---|---|---|---|"""


def _rows(figures: Iterable[Figure]) -> Iterable[str]:
    for _, group in groupby(figures, key=lambda figure: figure.row):
        same = list(group)
        first = same[0]
        tasks = ", ".join(filter(None, (first.tasks, first.subject)))
        evidence = ", ".join(dict.fromkeys(figure.evidence for figure in same))
        cells = (
            f"`{first.agent}`", first.method, first.llm, first.hardware, tasks, "; ".join(map(str, same)),
            f"{first.paper}, {first.table}", evidence,
        )  # fmt: skip
        yield f"| {' | '.join(cells)} |"

"""Page of the red team: successful attacks, refused honest kernels, and the defences that stop each class of attacks.

Rates are counted again from the rows of `kbench redteam --csv`, with Wilson's intervals. Rows that make no sense are
counted as unreadable, and nowhere else.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from robust_kbench.leaderboard.site import charts, paths
from robust_kbench.leaderboard.site.charts import Chart, Estimate
from robust_kbench.leaderboard.site.writing import cut, render, write
from robust_kbench.redteam.corpus import CLASSES, GROUPS

_NORMAL = 1.959963984540054
_MAX_BYTES, _MAX_ROWS = 16 << 20, 20_000
_HONEST, _TOGETHER = "honest", "several together"
_NEEDED = frozenset({"specimen", "kind", "status", "succeeded"})
_USED = (
    "specimen",
    "kind",
    "catalogue",
    "aim",
    "stopped_by",
    "status",
    "succeeded",
    "reason",
    "armed",
    "armed_without",
)
_HEATS = 5
Row = Mapping[str, str]


@dataclass(frozen=True)
class Rate:
    """Rate of `count` in `total`, with Wilson's interval at 95 %."""

    name: str
    count: int
    total: int

    @property
    def share(self) -> float:
        """Share of `count` in `total`; zero if `total` is zero."""
        return self.count / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of the rate; 0 and 1 where nothing was tried."""
        return wilson(self.count, self.total)


@dataclass(frozen=True)
class Cell:
    """Cell of the matrix: how many attacks succeed once a defence is off. `heat`: a class of site.css, 0 to 4."""

    count: int
    heat: int


@dataclass(frozen=True)
class Line:
    """Line of the matrix for one class of attacks."""

    name: str
    attacks: int
    cells: tuple[Cell, ...]


def wilson(count: int, total: int) -> tuple[float, float]:
    """Compute Wilson's interval of a rate at 95 %, within 0 and 1."""
    if not total:
        return 0.0, 1.0
    share, z2 = count / total, _NORMAL**2
    centre = (share + z2 / (2 * total)) / (1 + z2 / total)
    width = _NORMAL * math.sqrt(share * (1 - share) / total + z2 / (4 * total**2)) / (1 + z2 / total)
    low = 0.0 if count == 0 else max(0.0, centre - width)
    return low, 1.0 if count == total else min(1.0, centre + width)


def read(path: Path) -> tuple[list[Row], int]:
    """Read the rows that make sense, with the columns in use, and count the others. Raises OSError."""
    if path.stat().st_size > _MAX_BYTES:
        return [], 1
    text = path.read_bytes().decode(errors="replace").replace("\0", "\ufffd")
    found: list[Row] = []
    broken = 0
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        for row in reader:
            if len(found) + broken >= _MAX_ROWS:
                break
            if _makes_sense(row):
                found.append({name: row.get(name) or "" for name in _USED})
            else:
                broken += 1
    except csv.Error:
        broken += 1
    return found, broken


def _makes_sense(row: Mapping[str, object]) -> bool:
    known = row.keys() >= _NEEDED and all(row[name] is not None for name in _NEEDED)
    return known and row["succeeded"] in ("0", "1") and row["kind"] in (*CLASSES.values(), _HONEST)


def rates(rows: Iterable[Row]) -> list[Rate]:
    """Count the successes of the armed attacks of each class, then of all."""
    armed = [row for row in rows if row["kind"] != _HONEST and row["armed"] == "1"]
    found = []
    for kind in CLASSES.values():
        mine = [row for row in armed if row["kind"] == kind]
        found.append(Rate(kind, sum(row["succeeded"] == "1" for row in mine), len(mine)))
    return [*found, Rate("all attacks", sum(each.count for each in found), len(armed))]


def false_positives(rows: Iterable[Row]) -> list[Rate]:
    """Count the refusals of honest kernels that look like attacks of each class, then of all, whatever the reason.

    `catalogue` has the numbers of the attacks that a kernel could be taken for, which may be of several classes.
    """
    honest = [row for row in rows if row["kind"] == _HONEST]
    found = []
    for letter, kind in CLASSES.items():
        mine = [row for row in honest if any(number.startswith(letter) for number in row["catalogue"].split())]
        found.append(_refused(f"honest, looks like {kind}", mine))
    return [*found, _refused("all honest kernels", honest)]


def _refused(name: str, honest: Sequence[Row]) -> Rate:
    return Rate(name, sum(row["status"] != "passed" for row in honest), len(honest))


def matrix(rows: Iterable[Row]) -> tuple[list[str], list[Line]]:
    """Return the columns, which name what is off when an attack is armed, and a line for each class.

    A line counts the attacks of its class that succeed in each column.
    """
    armed = [row for row in rows if row["kind"] != _HONEST and row["armed"] == "1"]
    off = {id(row): _off(row) for row in armed}
    others = sorted(set(off.values()) - set(GROUPS) - {_TOGETHER})
    columns = [*GROUPS, _TOGETHER, *others][:16]
    lines = []
    for kind in CLASSES.values():
        mine = [row for row in armed if row["kind"] == kind]
        counts = [sum(off[id(row)] == column for row in mine) for column in columns]
        lines.append(Line(kind, len(mine), tuple(Cell(count, _heat(count, len(mine))) for count in counts)))
    return columns, lines


def _off(row: Row) -> str:
    """Return the column of a row: one group by its name, several groups as one column.

    A naive harness has the name that the table gives it.
    """
    groups = [name for name in row["armed_without"].split(" + ") if name]
    return cut(groups[0], 40) if len(groups) == 1 else _TOGETHER


def _heat(count: int, total: int) -> int:
    return min(_HEATS - 1, math.ceil(count / total * (_HEATS - 1))) if total else 0


def write_redteam(path: Path | None, out: Path) -> tuple[list[Path], list[str]]:
    """Write the page, and return its path and the problems of the table. Without a table it says how to make one."""
    rows, broken, problems = _rows(path)
    found, refused = rates(rows), false_positives(rows)
    columns, lines = matrix(rows)
    succeeded = [row for row in rows if row["kind"] != _HONEST and row["succeeded"] == "1"]
    unarmed = [row for row in rows if row["kind"] != _HONEST and row["armed"] != "1"]
    text = render(
        "redteam.html.j2", paths.REDTEAM, rows=rows, rates=[*found, *refused] if rows else [], columns=columns,
        matrix=lines, chart=_chart([*found, *refused]) if rows else None, succeeded=succeeded, unarmed=unarmed,
        broken=broken, refused=[row for row in rows if row["kind"] == _HONEST and row["status"] != "passed"],
    )  # fmt: skip
    return [write(out, paths.REDTEAM, text)], problems


def _rows(path: Path | None) -> tuple[list[Row], int, list[str]]:
    if path is None:
        return [], 0, []
    try:
        rows, broken = read(path)
    except OSError as error:
        return [], 0, [f"{path.name}: {error.strerror}"]
    return rows, broken, [f"{path.name}: {broken} rows are none of `kbench redteam --csv`"] if broken else []


def _chart(found: Sequence[Rate]) -> Chart:
    estimates = [
        Estimate(_counted(each), 100 * each.share, 100 * each.interval[0], 100 * each.interval[1], "rate")
        for each in found
        if each.total
    ]
    figure = charts.intervals(estimates)
    title = {"text": "rate, with Wilson's 95 % interval"}
    figure["layout"]["xaxis"] = {"type": "linear", "range": [-1, 101], "ticksuffix": " %", "title": title}
    del figure["layout"]["shapes"]
    for trace in figure["data"]:
        trace["hovertemplate"] = "%{text}<br>%{x:.1f} % [%{customdata[0]:.1f}, %{customdata[1]:.1f}]<extra></extra>"
    words = "; ".join(f"{each.name} {each.count} of {each.total}" for each in found)
    return Chart(
        "rates", figure, f"Rates of success with intervals: {words}",
        "Attacks that succeed, of those that are armed, by class; and honest kernels that are refused, by the class of "
        "attacks that they look like.", 5,
    )  # fmt: skip


def _counted(each: Rate) -> str:
    return f"{each.name} ({each.count}/{each.total})"

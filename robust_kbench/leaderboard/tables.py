"""Rows to files: a CSV to compute with, a Markdown page to read.

Names, reasons and whatever else a record words are hostile text: they are inert in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd

from robust_kbench.leaderboard.rows import COLUMNS, Row, rows
from robust_kbench.schema.documents import shown
from robust_kbench.schema.record import RunRecord

# Where a spreadsheet begins to compute: at the start of a cell, which in half of the world a semicolon ends, too.
_FORMULA = re.compile(r"(^|;)([\s\"]*)([=+\-@\uff1d\uff0b\uff0d\uff20])")
_ENDS_CODE = str.maketrans({"`": "'", "|": "\N{BROKEN BAR}"})


def write(records: Iterable[RunRecord], folder: Path) -> list[Path]:
    """Write `leaderboard.csv` and `README.md` into `folder`; returns the paths."""
    found = rows(records)
    folder.mkdir(parents=True, exist_ok=True)
    csv, page = folder / "leaderboard.csv", folder / "README.md"
    csv.write_text(to_csv(found))
    page.write_text(to_markdown(found))
    return [csv, page]


def to_csv(found: Sequence[Row]) -> str:
    """Comma-separated, one header line, empty where a value does not exist. Text is no formula: see `_inert`."""
    frame = pd.DataFrame([{column: _inert(row[column]) for column in COLUMNS} for row in found], columns=list(COLUMNS))
    frame = frame.astype({"rank": "Int64"})
    text: str = frame.to_csv(index=False, float_format="%.4f", lineterminator="\n")
    return text


def to_markdown(found: Sequence[Row]) -> str:
    """A section per task and device, a table per dtype."""
    parts = [
        "# Leaderboard\n\nRanked by the lower end of the 95 % interval of the speedup over the fastest correct "
        "baseline, as an independent second run found it. Interpreted, replayed, quick and unconfirmed runs are listed "
        "without a rank, and so is a submission that has failed in any run.\n"
    ]
    for (task, device), group in groupby(found, key=lambda row: (row["task"], row["device"])):
        parts.append(f"## {_quoted(task)} on {_quoted(device)}\n")
        parts.append(_table(list(group)))
    return "\n".join(parts)


def _table(group: Sequence[Row]) -> str:
    lines = [
        "| rank | submission | language | dtype | contract | status | speedup | against | median | cases | runs |",
        "|---:|---|---|---|---|---|---|---|---:|---:|---:|",
    ]
    for row in group:
        speedup = (
            f"{row['speedup']:.2f}x [{row['speedup_low']:.2f}, {row['speedup_high']:.2f}]" if row["speedup"] else ""
        )
        discarded = f" and {row['discarded']} discarded" if row["discarded"] else ""
        cells = [
            str(row["rank"] or ""), _quoted(row["submission"]), _quoted(row["language"]), row["dtype"],
            row["precision"], _status(row), speedup, _quoted(row["vs"] or ""),
            f"{row['median_us']:.1f} us" if row["median_us"] else "", f"{row['cases_passed']}/{row['cases_drawn']}",
            f"{row['runs']}{discarded}",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _status(row: Row) -> str:
    """With the reason, and the run of a failure, which later ones do not undo."""
    if row["status"] == "passed":
        return f"passed; {_quoted(row['reason'])}" if row["reason"] else "passed"
    return f"{row['status']} with seed {row['seed']}: {_quoted(row['reason'])}"


def _quoted(text: str) -> str:
    """`text` as code, where a page finds no markup, link, mention or entity. What would end the code is replaced."""
    code = shown(text).translate(_ENDS_CODE).strip()
    return f"`{code}`" if code else ""


def _inert(value: object) -> object:
    """Text as one line in which no spreadsheet finds a formula: an apostrophe stands before it. Numbers as they are."""
    return _FORMULA.sub(r"\1\2'\3", shown(value)) if isinstance(value, str) else value

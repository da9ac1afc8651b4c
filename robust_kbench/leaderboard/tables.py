"""Rows to files: a CSV to compute with, a Markdown page to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd

from robust_kbench.leaderboard.rows import COLUMNS, Row, rows
from robust_kbench.schema.record import RunRecord


def write(records: Iterable[RunRecord], folder: Path) -> list[Path]:
    """Write `leaderboard.csv` and `README.md` into `folder`; returns the paths."""
    found = rows(records)
    folder.mkdir(parents=True, exist_ok=True)
    csv, page = folder / "leaderboard.csv", folder / "README.md"
    csv.write_text(to_csv(found))
    page.write_text(to_markdown(found))
    return [csv, page]


def to_csv(found: Sequence[Row]) -> str:
    """Comma-separated, one header line, empty where a value does not exist."""
    frame = pd.DataFrame(found, columns=list(COLUMNS))
    frame = frame.astype({"rank": "Int64"})
    text: str = frame.to_csv(index=False, float_format="%.4f", lineterminator="\n")
    return text


def to_markdown(found: Sequence[Row]) -> str:
    """A section per task and device, a table per dtype."""
    parts = [
        "# Leaderboard\n\nRanked by the lower end of the 95 % interval of the speedup over the fastest correct "
        "baseline, as an independent second run found it. Interpreted, replayed, quick and unconfirmed runs are listed "
        "without a rank.\n"
    ]
    for (task, device), group in groupby(found, key=lambda row: (row["task"], row["device"])):
        parts.append(f"## {task} on {device}\n")
        parts.append(_table(list(group)))
    return "\n".join(parts)


def _table(group: Sequence[Row]) -> str:
    lines = [
        "| rank | submission | language | dtype | contract | status | speedup | against | median | cases |",
        "|---:|---|---|---|---|---|---|---|---:|---:|",
    ]
    for row in group:
        speedup = (
            f"{row['speedup']:.2f}x [{row['speedup_low']:.2f}, {row['speedup_high']:.2f}]" if row["speedup"] else ""
        )
        status = row["status"] if row["status"] == "passed" else f"{row['status']}: {_escape(row['reason'])}"
        cells = [
            str(row["rank"] or ""), _escape(row["submission"]), row["language"], row["dtype"], row["precision"],
            status, speedup,
            row["vs"] or "", f"{row['median_us']:.1f} us" if row["median_us"] else "",
            f"{row['cases_passed']}/{row['cases_drawn']}",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    """A submission names itself and words its own errors: neither may draw a table or a link of its own."""
    safe = "".join(character if character.isprintable() else " " for character in text)
    for character in "\\`*_[]<>|":
        safe = safe.replace(character, f"\\{character}")
    return safe

"""Tables of rows in files: CSVs to compute with, and a Markdown page to read.

Names, reasons and all other texts of a record are hostile. They are made inert in all files, see cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from robust_kbench.leaderboard import cells, totals
from robust_kbench.leaderboard.cells import quoted
from robust_kbench.leaderboard.reading import Problem
from robust_kbench.leaderboard.rows import COLUMNS, Row, rows
from robust_kbench.leaderboard.summary import Loaded
from robust_kbench.leaderboard.totals import Total

if TYPE_CHECKING:  # what runs of agents need takes longer to import than most boards to make
    from robust_kbench.leaderboard.agents import Run
    from robust_kbench.leaderboard.confirmation import Confirmation

LEADERBOARD, TOTALS, AGENTS, README = "leaderboard.csv", "totals.csv", "agents.csv", "README.md"
_MOST_PROBLEMS = 50


def write(
    loaded: Loaded,
    out: Path,
    *,
    trusted: frozenset[str] = frozenset(),
    confirmations: Iterable[Confirmation] = (),
    runs: Sequence[Run] = (),
    problems: Sequence[Problem] = (),
) -> list[Path]:
    """Rank the loaded records and write the tables: see `write_rows`."""
    return write_rows(rows(loaded.summaries, trusted, confirmations), loaded, out, runs=runs, problems=problems)


def write_rows(
    found: Sequence[Row], loaded: Loaded, out: Path, *, runs: Sequence[Run] = (), problems: Sequence[Problem] = ()
) -> list[Path]:
    """Write `leaderboard.csv`, `totals.csv`, `README.md` and, where agents ran, `agents.csv`; return the paths.

    An `agents.csv` of an earlier call is removed where none ran. `problems`: further ones than those of `loaded`.
    """
    added = totals.totals(found)
    files = {
        LEADERBOARD: to_csv(found),
        TOTALS: cells.to_csv(added, totals.TOTAL_COLUMNS),
        **({AGENTS: _agents_csv(runs)} if runs else {}),
        README: "\n".join(_page(found, added, loaded, runs, [*loaded.problems, *problems])),
    }
    out.mkdir(parents=True, exist_ok=True)
    if not runs:
        (out / AGENTS).unlink(missing_ok=True)  # of an earlier call: pages would link it
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8", newline="")
    return [out / name for name in files]


def to_csv(found: Sequence[Row]) -> str:
    """Return a CSV with one header line and empty cells for missing values; no text of it is a formula."""
    return cells.to_csv(found, COLUMNS)


def _agents_csv(runs: Sequence[Run]) -> str:
    from robust_kbench.leaderboard import agents

    return agents.to_csv(runs)


def _agents_markdown(runs: Sequence[Run]) -> str:
    from robust_kbench.leaderboard import agents

    return agents.to_markdown(runs)


def _page(
    found: Sequence[Row], added: Sequence[Total], loaded: Loaded, runs: Sequence[Run], problems: Sequence[Problem]
) -> Iterator[str]:
    yield to_markdown(found)
    if table := totals.to_markdown(added):
        yield f"{_TOTALS}\n\n{table}"
    if runs:
        yield f"{_AGENTS}\n\n{_agents_markdown(runs)}"
    if loaded.duplicates:
        yield f"## Repeated\n\nLines that repeat a run, which counts once: {loaded.duplicates}\n"
    if problems:
        yield "\n".join(["## Left out\n", *_problems(problems), ""])


_TOTALS = """\
## Totals

Over the tasks that an author has attempted. fast_p: the share that is right and more than p times as fast as the
fastest baseline. Means count a failure as 1, as if the baseline had been kept; `of passed` leaves failures out. What is
told of the floor, and the SOL score, are over ranked tasks whose floor is known."""
_AGENTS = "## Agents\n\nSpeedups are over eager PyTorch in the final judging, with 95 % intervals by bootstrap."


def _problems(problems: Sequence[Problem]) -> Iterator[str]:
    for each in problems[:_MOST_PROBLEMS]:
        yield f"- {quoted(each.where)}: {quoted(each.what)}"
    if len(problems) > _MOST_PROBLEMS:
        yield f"- and {len(problems) - _MOST_PROBLEMS} more"


def to_markdown(found: Sequence[Row]) -> str:
    """Return a section per task and device, with a table of all dtypes in each."""
    parts = [
        "# Leaderboard\n\nRanked by the lower end of the 95 % interval of the speedup over the fastest baseline, as an "
        "independent second run found it. Interpreted, replayed, quick and unconfirmed runs are listed without a rank, "
        "and so is a submission that has failed in any run.\n"
    ]
    for (task, device), group in groupby(found, key=lambda row: (row["task"], row["device"])):
        parts.append(f"## {quoted(task)} on {quoted(device)}\n")
        parts.append(_table(list(group)))
    return "\n".join(parts)


def _table(group: Sequence[Row]) -> str:
    lines = [
        "| rank | submission | language | dtype | contract | status | speedup | against | median | cases | runs "
        "| record |",
        "|---:|---|---|---|---|---|---|---|---:|---:|---:|---|",
    ]
    for row in group:
        speedup = (
            f"{row['speedup']:.2f}x [{row['speedup_low']:.2f}, {row['speedup_high']:.2f}]" if row["speedup"] else ""
        )
        discarded = f" and {row['discarded']} discarded" if row["discarded"] else ""
        cells_ = [
            _place(row), _submission(row), quoted(row["language"]), row["dtype"],
            row["precision"], _status(row), speedup, quoted(row["vs"] or ""),
            f"{row['median_us']:.1f} us" if row["median_us"] else "", f"{row['cases_passed']}/{row['cases_drawn']}",
            f"{row['runs']}{discarded}", row["standing"],
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells_) + " |")
    return "\n".join(lines) + "\n"


def _place(row: Row) -> str:
    return f"{row['rank']} (tie)" if row["tie"] else str(row["rank"] or "")


def _submission(row: Row) -> str:
    """Return the name of the submission, with another name under which the same sources stand."""
    same = f", the same sources as {quoted(row['same_source_as'])}" if row["same_source_as"] else ""
    return quoted(row["submission"]) + same


def _status(row: Row) -> str:
    """Return the status with its reason, and with the seed of a failed run, which later runs do not undo."""
    if row["status"] == "passed":
        return f"passed; {quoted(row['reason'])}" if row["reason"] else "passed"
    return f"{row['status']} with seed {row['seed']}: {quoted(row['reason'])}"

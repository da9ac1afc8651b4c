"""Leaderboard as a static site. It works from a disk without a network, and equal records give equal bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path

from robust_kbench.leaderboard.agents import Run
from robust_kbench.leaderboard.confirmation import Confirmation
from robust_kbench.leaderboard.rows import Row
from robust_kbench.leaderboard.site import (
    agent_pages,
    lookup,
    other_pages,
    overview,
    paths,
    redteam_page,
    submission_pages,
    task_pages,
    workers,
)
from robust_kbench.leaderboard.site.writing import remove_stale, write
from robust_kbench.leaderboard.summary import Loaded, Summary
from robust_kbench.leaderboard.totals import totals
from robust_kbench.progress import Progress, silent


def write_site(
    loaded: Loaded,
    rows: Sequence[Row],
    out: Path,
    *,
    sources: Mapping[str, Path] | None = None,
    runs: Sequence[Run] = (),
    redteam: Path | None = None,
    confirmations: Iterable[Confirmation] = (),
    jobs: int | None = None,
    progress: Progress = silent,
) -> list[Path]:
    """Write all pages below `out`, and return their paths.

    `sources`: folders of submissions that may be shown, by digest (see `sources.find`). `redteam`: a table of `kbench
    redteam --csv`. `jobs`: processes, by default one for each core. Records and files that no page can be made of are
    told on `problems.html`.
    """
    written = _static(out)
    pages, failures = _pages(loaded.summaries, rows, out, sources or {}, confirmations, jobs, progress)
    written += pages
    written += agent_pages.write_agents(runs, out, tasks={row["task"] for row in rows})
    about_attacks, problems = redteam_page.write_redteam(redteam, out)
    written += [*about_attacks, *other_pages.write_method(out)]
    written += other_pages.write_problems(loaded.problems, loaded.duplicates, rows, [*failures, *problems], out)
    written += overview.write_overview(
        rows, out, runs=len(loaded.summaries), problems=len(loaded.problems), totals=totals(rows)
    )
    remove_stale(out, written)
    return sorted(written)


def _static(out: Path) -> list[Path]:
    """Write our style and script, and plotly's script, once for all pages."""
    from plotly.offline import get_plotlyjs

    own = resources.files("robust_kbench.leaderboard.site") / "static"
    style, script = ((own / name).read_text(encoding="utf-8") for name in ("site.css", "site.js"))
    files = ((paths.STYLE, style), (paths.SCRIPT, script), (paths.PLOTLY, get_plotlyjs()))
    return [write(out, page, text) for page, text in files]


def _pages(
    summaries: Sequence[Summary],
    rows: Sequence[Row],
    out: Path,
    sources: Mapping[str, Path],
    confirmations: Iterable[Confirmation],
    jobs: int | None,
    progress: Progress,
) -> workers.Written:
    """Write the pages of tasks and submissions, in several processes."""
    runs = {lookup.key_of(each): each for each in summaries}
    tasks, lost_tasks = workers.carry_out(
        task_pages.write_task, task_pages.subject, task_pages.orders(rows, runs, out),
        stage="tasks", jobs=jobs, progress=progress,
    )  # fmt: skip
    pages, lost_pages = workers.carry_out(
        submission_pages.write_submission, submission_pages.subject,
        submission_pages.orders(rows, summaries, out, folders=sources, confirmations=confirmations),
        stage="submissions", jobs=jobs, progress=progress,
    )  # fmt: skip
    return [*tasks, *pages], [*lost_tasks, *lost_pages]

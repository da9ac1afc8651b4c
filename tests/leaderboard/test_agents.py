"""Runs of agents on a board: found below folders that anybody may have made."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from specimens import make_run_summary

from robust_kbench.agents.comparison import aggregate
from robust_kbench.agents.summary import Interval, Summary
from robust_kbench.leaderboard.agents import AGENT_COLUMNS, Run, load, to_csv, to_markdown
from robust_kbench.leaderboard.summary import Loaded
from robust_kbench.leaderboard.tables import write


def left(folder: Path, summary: Summary) -> Path:
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(summary.model_dump_json())
    return folder


def run(**changes: Any) -> Run:
    return Run(Path("run"), make_run_summary(**changes))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_run_below_the_folders_is_found_once(tmp_path: Path) -> None:
    for seed in (2, 1):
        left(tmp_path / "sweep" / f"seed{seed}", make_run_summary(seed=seed))
    found = load([tmp_path, tmp_path / "sweep", tmp_path / "sweep" / "seed1", tmp_path / "missing"])
    assert [each.summary.seed for each in found.runs] == [1, 2]
    assert found.runs[0].folder.name == "seed1"
    assert found.problems == []


WHOLE = make_run_summary().model_dump(mode="json")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "{}",
        '{"task": NaN}',
        json.dumps({**WHOLE, "schema_version": 99}),
        json.dumps({**WHOLE, "unknown": 1}),
        json.dumps({**WHOLE, "area": {}}),
        json.dumps({**WHOLE, "area": {"evaluations": 0.0, "tokens": 1.0, "usd": None}}),
        json.dumps({**WHOLE, "gap": -1.0}),
        json.dumps({**WHOLE, "final_speedup": {"value": 0.0, "low": 0.0, "high": 0.0}}),
        json.dumps({**WHOLE, "over_all": {"value": 1e300, "low": 1.0, "high": 1.0}}),
        json.dumps({**WHOLE, "usd": float("inf")}),
        json.dumps({**WHOLE, "curve": [{"evaluations": 1, "tokens": 1, "usd": None, "best": -1.0}]}),
        json.dumps({**WHOLE, "curve": [{"evaluations": 10**400, "tokens": 1, "usd": None, "best": 1.0}]}),
        json.dumps({**WHOLE, "input_tokens": 10**400}),
        json.dumps({**WHOLE, "evaluations": -1}),
        json.dumps({**WHOLE, "stages": {"time": 10**400}}),
        json.dumps({**WHOLE, "verifiers": {"numerical": {"tp": 10**400}}}),
    ],
    ids=[
        "empty", "torn", "deep", "a list", "nothing", "NaN", "newer", "unknown", "no area", "area of zero", "negative",
        "speedup of zero", "huge", "infinite", "best of nothing", "endless curve", "endless tokens",
        "fewer than none", "endless stages", "endless answers",
    ],
)  # fmt: skip
def test_what_is_no_summary_is_told_and_costs_no_other(text: str, tmp_path: Path) -> None:
    left(tmp_path / "good", make_run_summary())
    left(tmp_path / "bad", make_run_summary()).joinpath("summary.json").write_text(text)
    found = load([tmp_path])
    assert [each.folder.name for each in found.runs] == ["good"]
    (problem,) = found.problems
    assert problem.where == str(tmp_path / "bad" / "summary.json")
    assert 0 < len(problem.what) <= 300
    assert problem.what.isprintable()


def test_links_lead_nowhere(tmp_path: Path) -> None:
    elsewhere = left(tmp_path / "elsewhere", make_run_summary())
    board = tmp_path / "board"
    (board / "run").mkdir(parents=True)
    (board / "run" / "summary.json").symlink_to(elsewhere / "summary.json")
    found = load([board])
    assert (found.runs, len(found.problems)) == ([], 1)


def test_the_table_has_the_documented_columns_in_their_order() -> None:
    frame = pd.read_csv(io.StringIO(to_csv([run(), run(seed=2)])))
    assert tuple(frame.columns) == AGENT_COLUMNS
    assert set(AGENT_COLUMNS) == set(aggregate([make_run_summary()]).columns)
    text = (Path(__file__).parents[2] / "docs/leaderboard.md").read_text()
    section = text.partition("<!-- agents -->")[2].partition("<!-- end of agents -->")[0]
    named = re.findall(r"`([\w.]+)`", section)
    assert [name for name in AGENT_COLUMNS if not name.endswith(("_low", "_high"))] == named


def test_agents_under_equal_terms_stand_in_a_row_each() -> None:
    slow = {"final_speedup": Interval(value=1.0, low=0.9, high=1.1), "agent": "refine"}
    first, second = rows_of(to_csv([run(), run(seed=2), run(**slow)]))
    assert (first["agent"], first["runs"], first["geomean"]) == ("refine", "1", "1.0000")
    assert (second["agent"], second["runs"], second["geomean"], second["fast_1.5"]) == (
        "stark",
        "2",
        "2.0000",
        "1.0000",
    )
    assert (first["geomean_low"], second["geomean_low"]) == ("", "2.0000")


def test_the_order_of_runs_means_nothing() -> None:
    runs = [run(), run(seed=2), run(agent="refine"), run(harness="another")]
    assert to_csv(runs) == to_csv(runs[::-1])
    assert to_markdown(runs) == to_markdown(runs[::-1])


@pytest.mark.parametrize("text", ["=1+1", "\x1b[2J\n", "`|<b>\n# x", "@SUM(1)"])
def test_names_of_agents_are_inert(text: str, tmp_path: Path) -> None:
    runs = [run(agent=text, llm=(text,), hardware=text)]
    table = to_csv(runs)
    assert table.replace("\n", "").isprintable()
    assert len(table.splitlines()) == 2
    assert not any(cell.startswith(("=", "@")) for cell in rows_of(table)[0].values())
    written = write(Loaded([], [], 0), tmp_path, runs=runs)
    assert [path.name for path in written] == ["leaderboard.csv", "totals.csv", "agents.csv", "README.md"]
    assert (tmp_path / "README.md").read_text().replace("\n", "").isprintable()

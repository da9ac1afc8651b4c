"""Hostile records, stores, sources, runs and tables are shown or reported, but they are never run and never fatal."""

from __future__ import annotations

import io
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import hostile
import pandas as pd
import pytest
from hostile import LINES, SHAPES, TEXTS
from made_boards import (
    board,
    pages_of,
    read,
    rows_of,
    rows_script,
    vocabulary,
    write_redteam,
    write_runs,
)
from markdown_it import MarkdownIt

from robust_kbench.leaderboard.rows import COLUMNS
from robust_kbench.leaderboard.site import paths
from robust_kbench.leaderboard.summary import summaries
from robust_kbench.registry import read_submission
from robust_kbench.schema.documents import shown
from robust_kbench.schema.record import RunRecord

ADDRESS = re.compile(
    r"data:,|#[a-z][a-z0-9-]*|(\.\./)?(index|agents|redteam|method|problems)\.html(#[a-z][a-z0-9-]*)?"
    r"|(\.\./)?tasks/[a-z0-9_-]+\.html|(\.\./)?submissions/[0-9a-f]{16}\.html"
    r"|(\.\./)?static/(site\.css|site\.js|rows\.js|plotly\.min\.js)|(leaderboard|totals|agents)\.csv|README\.md"
)
TOLD = {"title", "aria-label", "value", "data-value"}
"""Attributes in which words of a record may stand."""
TABLES = ("leaderboard.csv", "totals.csv", "agents.csv")
FIRST_IN_A_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r")


@dataclass(frozen=True)
class Made:
    """A board of hostile things alone, and the output of the command that made it."""

    out: Path
    arguments: list[str | Path]
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("hostile")
    stores = hostile.write_stores(folder / "stores")
    for number, text in enumerate(TEXTS.values()):
        write_runs(folder / "runs" / str(number), text)
    for name, content in {
        "deep": b"[" * 100_000,
        "list": b"[1]",
        "bytes": b"\xff\xfe",
        "empty": b"",
        "{}": b"{}",
    }.items():
        (folder / "runs" / name).mkdir()
        (folder / "runs" / name / "summary.json").write_bytes(content)
    write_redteam(folder / "redteam.csv", "".join(TEXTS.values()))
    hostile.write_submission(folder / "sources" / "mine")
    digest = read_submission(folder / "sources" / "mine").digest
    (folder / "sourced.jsonl").write_bytes(hostile.sealed(hostile.plain() | {"submission_digest": digest}))
    arguments: list[str | Path] = [
        *stores, folder / "sourced.jsonl", "--agents", folder / "runs", "--redteam", folder / "redteam.csv",
        "--sources", folder / "sources",
    ]  # fmt: skip
    return Made(folder / "out", arguments, board(folder / "out", [], *arguments))


@pytest.mark.rotating
def test_nothing_is_fatal_and_the_terminal_is_told_in_a_few_plain_lines(made: Made) -> None:
    assert made.done.returncode == 0, made.done.stderr
    for text in (made.done.stdout, made.done.stderr):
        assert text.replace("\n", "").isprintable()
        assert "Traceback" not in text
    assert len(made.done.stderr.splitlines()) <= 30


def test_every_line_that_is_no_record_is_told_with_its_place(made: Made) -> None:
    told = read(made.out / paths.PROBLEMS).text
    store = next(path for path in made.arguments if "<img" in str(path))
    for number, name in enumerate(LINES, start=1):
        assert name == "a key twice" or f"{shown(str(store))}:{number}" in told, name
    assert "torn" in told


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_no_record_costs_no_other_line(name: str, tmp_path: Path) -> None:
    good = hostile.sealed(hostile.plain() | {"submission": "good"})
    other = hostile.sealed(hostile.plain() | {"submission": "other", "seed": 3})
    (tmp_path / "store.jsonl").write_bytes(good + LINES[name] + b"\n" + other)
    loaded = summaries([tmp_path / "store.jsonl"])
    assert {"good", "other"} <= {each.submission for each in loaded.summaries}
    told = [int(each.where.rpartition(":")[2]) for each in loaded.problems]
    assert {*told, *(each.place.number for each in loaded.summaries)} == {1, 2, 3}
    for problem in loaded.problems:
        assert problem.where.endswith("store.jsonl:2")
        assert problem.what.isprintable()
        assert 0 < len(problem.what) <= 300


@pytest.mark.parametrize("name", SHAPES)
def test_a_record_that_nobody_can_score_is_shown_without_a_score_or_told(name: str, tmp_path: Path) -> None:
    (tmp_path / "store.jsonl").write_bytes(hostile.sealed(hostile.shaped(name)))
    loaded = summaries([tmp_path / "store.jsonl"])
    assert len(loaded.summaries) + len(loaded.problems) == 1


def test_records_of_every_shape_have_their_rows(made: Made) -> None:
    shown_names = {row["submission"] for row in rows_of(made.out / "leaderboard.csv")}
    told = read(made.out / paths.PROBLEMS).text
    assert {name for name in SHAPES if name not in shown_names and "shapes.jsonl" not in told} <= {"no dtypes"}


def test_what_is_right_beside_them_is_ranked_all_the_same(made: Made) -> None:
    rows = rows_of(made.out / "leaderboard.csv")
    assert "whole" in {row["submission"] for row in rows}
    assert sum(row["rank"] == "1" for row in rows) >= len(TEXTS) - 5  # texts that are equal once they are shown


def test_altered_records_are_shown_and_never_ranked(made: Made) -> None:
    rows = {row["submission"]: row for row in rows_of(made.out / "leaderboard.csv")}
    for name in ("altered", "forged", "strange"):
        assert rows[name]["standing"].startswith("altered"), name
        assert rows[name]["rank"] == "", name


@pytest.mark.parametrize("table", TABLES)
def test_no_cell_of_a_table_is_a_formula_or_steers_a_terminal(made: Made, table: str) -> None:
    rows = rows_of(made.out / table)
    assert rows
    for row in rows:
        for cell in row.values():
            assert cell.isprintable()
            is_number = re.fullmatch(r"-?\d+(\.\d+)?", cell) is not None
            assert is_number or not cell.lstrip(' "').startswith(FIRST_IN_A_FORMULA), cell[:80]
            assert cell.lower() not in ("nan", "inf", "-inf")
    parts = (made.out / table).read_text(encoding="utf-8").split(";")
    assert [part[:40] for part in parts if part.lstrip(' "').startswith(("=", "@"))] == []


def test_the_table_is_read_by_pandas_without_options(made: Made) -> None:
    text = (made.out / "leaderboard.csv").read_text(encoding="utf-8")
    frame = pd.read_csv(io.StringIO(text))
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == len(text.splitlines()) - 1


def test_the_markdown_page_holds_no_markup_of_theirs(made: Made) -> None:
    text = (made.out / "README.md").read_text(encoding="utf-8")
    assert text.replace("\n", "").isprintable()
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert not {"html_block", "code_block", "fence"} & {token.type for token in tokens}
    parts = [part for token in tokens for part in token.children or ()]
    assert not {"html_inline", "link_open", "image"} & {part.type for part in parts}
    assert [part.content for part in parts if part.type == "text" and "pwned" in part.content] == []


def test_every_element_and_attribute_of_a_page_is_ours(made: Made) -> None:
    tags, names = vocabulary()
    count = 0
    for name, page in pages_of(made.out):
        count += 1
        assert (page.mistakes, page.open) == ([], []), name
        assert {each.tag for each in page.elements} <= tags, name
        assert {attribute for each in page.elements for attribute in each.attributes} <= names, name
    assert count > len(TEXTS)


def test_no_address_identifier_or_class_of_a_page_is_theirs(made: Made) -> None:
    for name, page in pages_of(made.out):
        for attribute in ("href", "src"):
            assert [value for value in page.values(attribute) if not ADDRESS.fullmatch(value)] == [], name
        for attribute in ("id", "class", "name", "for", "data-figure", "data-sort", "data-copy"):
            assert [each for each in page.values(attribute) if not re.fullmatch(r"[A-Za-z0-9_. -]*", each)] == [], name
        for element in page.elements:
            worded = {key for key, value in element.attributes.items() if "pwned" in value}
            assert worded <= TOLD, name
        assert page.values("http-equiv") == ["Content-Security-Policy"]


def test_the_only_scripts_are_files_of_ours_and_data(made: Made) -> None:
    for name, page in pages_of(made.out):
        for element in page.elements:
            if element.tag == "script":
                assert "src" in element.attributes or element.attributes["type"] == "application/json", name
        for element, text in page.scripts:
            assert element.attributes.get("type") == "application/json", name
            assert text.isascii(), name
            assert not set("<>&") & set(text), name
            assert isinstance(json.loads(text), dict), name


def test_texts_in_charts_are_no_markup_for_plotly_either(made: Made) -> None:
    """Plotly reads tags and entities in every text, and LaTeX between dollars if MathJax is there, which it is not."""
    for name, page in pages_of(made.out):
        for _, text in page.scripts:
            for line in _texts(json.loads(text)):
                assert "<a" not in line, name
                assert "<script" not in line, name


def _texts(data: object) -> list[str]:
    if isinstance(data, str):
        return [data]
    if isinstance(data, dict):
        return _texts(list(data.values()))
    return [text for each in data for text in _texts(each)] if isinstance(data, list) else []


def test_the_script_with_rows_is_one_assignment_of_data(made: Made) -> None:
    text = (made.out / paths.ROWS).read_text(encoding="utf-8")
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert rows_script(made.out)["count"] == len(rows_of(made.out / "leaderboard.csv"))


def test_nothing_on_a_page_hides_or_turns_round(made: Made) -> None:
    for name, page in pages_of(made.out):
        assert page.source.replace("\n", "").isprintable(), name


def test_sources_are_shown_letter_by_letter(made: Made) -> None:
    page = next(page for _, page in pages_of(made.out) if "def rmsnorm(x, weight)" in page.text)
    assert TEXTS["script"] in page.text
    assert "x < weight > x & '</code></pre>'" in page.text


def test_names_of_files_are_ours(made: Made) -> None:
    allowed = re.compile(
        r"(index|agents|redteam|method|problems)\.html|tasks/[a-z0-9_-]+\.html|submissions/[0-9a-f]{16}\.html"
        r"|static/[a-z.]+|(leaderboard|totals|agents)\.csv|README\.md"
    )
    files = [path.relative_to(made.out).as_posix() for path in made.out.rglob("*") if path.is_file()]
    assert [name for name in files if not allowed.fullmatch(name)] == []
    assert not Path("/tmp/pwned").exists()  # noqa: S108


@pytest.mark.rotating
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_making_it_again_gives_the_same_bytes_however_many_work_on_it(made: Made, jobs: str, tmp_path: Path) -> None:
    done = board(tmp_path, [], *made.arguments, "--jobs", jobs)
    assert done.returncode == 0, done.stderr
    before, after = (
        {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        for out in (made.out, tmp_path)
    )
    assert before.keys() == after.keys()
    assert [str(name) for name in before if before[name] != after[name]] == []


def test_the_synthetic_and_the_hostile_records_are_what_they_are_taken_for() -> None:
    """Tests on records that were refused at the door would prove nothing."""
    for line in [hostile.sealed(hostile.shaped(name)) for name in SHAPES]:
        assert RunRecord.model_validate_json(line).submission in SHAPES
    for text in TEXTS.values():
        rejected, everything, ranked, again = map(RunRecord.model_validate_json, hostile.worded_lines(text))
        assert (rejected.status, everything.task, ranked.task) == ("rejected", text, "norm/rmsnorm")
        assert ranked.is_rankable
        assert again.is_rankable
        assert (ranked.submission, ranked.author, set(ranked.labels)) == (text, text, {text[:400]})

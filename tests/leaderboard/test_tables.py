"""Conversion of records to rows, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from markdown_it import MarkdownIt
from specimens import make_loaded, make_record, make_summaries

from robust_kbench.leaderboard.reading import Problem
from robust_kbench.leaderboard.rows import COLUMNS, Row
from robust_kbench.leaderboard.rows import rows as rows_of
from robust_kbench.leaderboard.summary import Loaded
from robust_kbench.leaderboard.tables import to_csv, to_markdown, write
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import RunRecord, Session, Status, Timing, encode_samples

RANKED = {"tier": "full", "replay": False, "execution": "native", "handshake": "spin", "status": Status.PASSED}


def timed(name: str, candidate: int, baseline: str = "eager", load: float = 0.0, **changes: Any) -> RunRecord:
    """Make a rankable record whose candidate takes `candidate` ns and the baseline 100 000."""
    samples = {"candidate": [candidate] * 20, baseline: [100_000] * 20}
    one = Session(samples={key: encode_samples(values) for key, values in samples.items()}, foreign_load=load)
    timings = (Timing(axes={"rows": 1}, dtype="float32", sessions=(one,)),)
    fields = {"submission": name, "submission_digest": f"sha256:{name}", "dtypes": ("float32",), "timings": timings}
    return make_record(**{**RANKED, **fields, **changes})


def confirmed(*records: RunRecord) -> list[RunRecord]:
    """Return each of them twice, a minute apart."""
    return [*records, *(each.model_copy(update={"started_at": "2026-01-02T03:05:05Z"}) for each in records)]


def rows(records: Iterable[RunRecord]) -> list[Row]:
    return rows_of(make_summaries(records))


def ranks(found: list[Row]) -> dict[str, int | None]:
    return {row["submission"]: row["rank"] for row in found}


def test_rows_are_ranked_by_the_lower_bound() -> None:
    found = rows(confirmed(timed("slow", 90_000), timed("fast", 20_000), timed("middle", 50_000)))
    assert ranks(found) == {"fast": 1, "middle": 2, "slow": 3}
    assert [row["submission"] for row in found] == ["fast", "middle", "slow"]


def test_equal_bounds_share_a_rank() -> None:
    found = rows(confirmed(timed("a", 50_000), timed("b", 50_000), timed("c", 60_000)))
    assert ranks(found) == {"a": 1, "b": 1, "c": 3}


def test_quick_replayed_interpreted_and_failed_rows_are_shown_without_a_rank() -> None:
    found = rows(
        confirmed(
            timed("quick", 10, tier="quick"),
            timed("replay", 10, replay=True),
            timed("interpreted", 10, execution="interpreted"),
            timed("wrong", 10, status=Status.INCORRECT, reason="y[0]: got 0, expected 1", timings=()),
            timed("honest", 50_000),
        )
    )
    assert ranks(found) == {"honest": 1, "interpreted": None, "quick": None, "replay": None, "wrong": None}


def test_our_own_failures_are_nobodys_result() -> None:
    assert rows([timed("x", 10, status=Status.HARNESS_ERROR)]) == []


def at(minute: int, record: RunRecord) -> RunRecord:
    return record.model_copy(update={"started_at": f"2026-01-02T03:{minute:02}:05Z"})


def test_a_single_run_is_listed_without_a_rank() -> None:
    (row,) = rows([timed("a", 20_000)])
    assert (row["rank"], row["runs"], row["speedup"]) == (None, 1, pytest.approx(5.0))


def test_the_second_run_is_published_whatever_the_others_say() -> None:
    luckiest = [at(1, timed("a", 40_000)), at(2, timed("a", 50_000)), at(3, timed("a", 10_000))]
    for order in (luckiest, luckiest[::-1]):
        (row,) = rows(order)
        assert (row["rank"], row["runs"]) == (1, 3)
        assert (row["nominated_speedup"], row["speedup"]) == pytest.approx((2.5, 2.0))


def test_a_run_that_may_not_be_ranked_neither_confirms_nor_replaces() -> None:
    (row,) = rows([at(1, timed("a", 40_000)), at(2, timed("a", 10, replay=True))])
    assert (row["rank"], row["median_us"]) == (None, pytest.approx(40.0))


def failed(status: str = "rejected", **changes: Any) -> RunRecord:
    fields: dict[str, Any] = {"status": Status(status), "reason": "y[0] is wrong", "seed": 11, "timings": ()}
    return timed("a", 10, **{**fields, **changes})


@pytest.mark.parametrize("status", ["incorrect", "rejected", "crashed", "timed_out", "build_failed"])
@pytest.mark.parametrize("tier", ["quick", "full"])
@pytest.mark.parametrize("minute", [0, 2, 9])
def test_one_failure_costs_the_rank_for_good_and_the_row_tells_which_run_it_was(
    minute: int, tier: str, status: str
) -> None:
    passed = [at(each, timed("a", 50_000)) for each in (1, 3, 4, 5)]
    (row,) = rows([*passed, at(minute, failed(status, tier=tier))])
    assert (row["rank"], row["runs"]) == (None, 4)
    assert (row["status"], row["reason"], row["seed"]) == (status, "y[0] is wrong", 11)
    assert row["started_at"] == f"2026-01-02T03:{minute:02}:05Z"


def test_of_several_failures_the_first_one_is_shown() -> None:
    (row,) = rows([at(2, failed("crashed")), at(1, failed("rejected")), at(3, timed("a", 50_000))])
    assert row["status"] == "rejected"


def test_who_fails_whenever_a_run_was_unlucky_draws_no_other() -> None:
    unlucky = [at(1, timed("a", 50_000)), at(2, failed("crashed"))]
    lucky = [at(minute, timed("a", 10_000)) for minute in (3, 4)]
    assert ranks(rows([*unlucky, *lucky])) == {"a": None}


@pytest.mark.parametrize(
    "terms",
    [{"rule": "old"}, {"task_version": 0}, {"task_digest": "sha256:old"}, {"environment": {"kbench": "0.0.1"}}],
    ids=str,
)
def test_a_failure_under_other_terms_is_none(terms: dict[str, Any]) -> None:
    passed = [at(minute, timed("a", 50_000)) for minute in (2, 3)]
    assert ranks(rows([at(1, failed(**terms)), *passed])) == {"a": 1}


@pytest.mark.parametrize("minute", [0, 9])
def test_what_this_machine_could_not_run_is_no_failure(minute: int) -> None:
    passed = [at(each, timed("a", 50_000)) for each in (1, 2)]
    (row,) = rows([*passed, at(minute, failed("unsupported"))])
    assert (row["rank"], row["status"], row["discarded"]) == (1, "passed", 0)


LOST = Finding(guard="baselines", severity="warn", message="baseline compile is left out: was killed by SIGKILL")
IN_VAIN: list[dict[str, Any]] = [
    {"status": Status.HARNESS_ERROR, "timings": ()},
    {"load": 0.2},
    {"findings": (LOST,)},
]


@pytest.mark.parametrize("how", IN_VAIN, ids=["harness error", "load", "lost baseline"])
def test_who_sees_to_it_that_unlucky_runs_do_not_count_is_not_ranked_after_three(how: dict[str, Any]) -> None:
    passed = [at(minute, timed("a", 50_000)) for minute in (7, 9)]
    in_vain = [at(minute, timed("a", 10, **how)) for minute in (5, 6, 8)]
    (row,) = rows([*passed, *in_vain[1:]])
    assert (row["rank"], row["runs"], row["discarded"], row["median_us"]) == (1, 2, 2, pytest.approx(50.0))
    (row,) = rows([*passed, *in_vain])
    assert (row["rank"], row["runs"], row["discarded"]) == (None, 2, 3)
    assert row["reason"] == "not ranked: 3 runs came to nothing before two had counted"
    assert row["reason"] in to_markdown([row])


@pytest.mark.parametrize("how", IN_VAIN, ids=["harness error", "load", "lost baseline"])
def test_what_comes_to_nothing_after_the_run_that_is_published_costs_nothing(how: dict[str, Any]) -> None:
    passed = [at(minute, timed("a", 50_000)) for minute in (1, 2)]
    (row,) = rows([*passed, *(at(minute, timed("a", 10, **how)) for minute in (3, 4, 5, 6))])
    assert (row["rank"], row["runs"], row["discarded"]) == (1, 2, 0)


@pytest.mark.parametrize("how", [{"tier": "quick"}, {"replay": True}, {"execution": "emulated"}], ids=str)
def test_what_was_never_meant_to_be_ranked_is_not_counted_among_what_came_to_nothing(how: dict[str, Any]) -> None:
    tries = [at(minute, timed("a", 10, load=0.2, **how)) for minute in (1, 2, 3, 4)]
    passed = [at(minute, timed("a", 50_000)) for minute in (5, 6)]
    (row,) = rows([*tries, *passed])
    assert (row["rank"], row["discarded"]) == (1, 0)


def test_a_run_that_came_to_nothing_says_why() -> None:
    (row,) = rows([timed("a", 10, findings=(LOST,))])
    assert (row["rank"], row["runs"], row["discarded"], row["reason"]) == (None, 0, 1, "a baseline failed")


def test_a_run_that_stands_in_two_stores_does_not_confirm_itself() -> None:
    (row,) = rows([timed("a", 50_000), timed("a", 50_000)])
    assert (row["rank"], row["runs"]) == (None, 1)


def test_runs_of_another_rule_do_not_confirm_each_other() -> None:
    assert ranks(rows([at(1, timed("a", 50_000, rule="old")), at(2, timed("a", 50_000))])) == {"a": None}


def test_other_devices_versions_and_contracts_are_ranked_apart() -> None:
    elsewhere: dict[str, Any] = {"environment": {"device": "another", "kbench": "0.1.0"}}
    found = rows(
        confirmed(
            timed("a", 50_000),
            timed("b", 20_000, **elsewhere),
            timed("c", 20_000, task_version=2),
            timed("d", 20_000, precision="tf32_ok"),
        )
    )
    assert set(ranks(found).values()) == {1}


def test_the_csv_does_not_depend_on_the_order_of_records() -> None:
    records = [timed(f"s{i}", 10_000 * (i + 1)) for i in range(8)]
    shuffled = random.Random(1).sample(records, len(records))
    assert to_csv(rows(records)) == to_csv(rows(shuffled))


def test_the_csv_is_loaded_by_pandas_without_options() -> None:
    frame = pd.read_csv(io.StringIO(to_csv(rows(confirmed(timed("a", 50_000), timed("b", 20_000))))))
    assert tuple(frame.columns) == COLUMNS
    assert list(frame["rank"]) == [1, 2]
    assert list(frame["speedup"]) == [5.0, 2.0]


STEERING = "\x1b[2J\x1b]0;mine\x07\x9b1A\r\n\t\u202e\u2066\x85\u2028\x7f"


def worded(text: str) -> list[RunRecord]:
    """Make a failure and two passes, in which everything that can be worded is `text`."""
    told: dict[str, Any] = dict.fromkeys(
        ("task", "submission", "author", "language", "abi", "track", "task_digest"), text
    )
    told |= {"rule": text, "environment": {"device": text, "kbench": text}, "labels": (text,), "isolation": (text,)}
    wrong = timed("n", 10, **told, submission_digest="sha256:0", status=Status.INCORRECT, reason=text)
    passed = timed("n", 10, **told, submission_digest=text, baseline=text or "eager")
    return [wrong, passed, at(9, passed)]


@pytest.mark.parametrize(
    "hostile",
    [
        "x | 1 | [best](http://example.org) <script>\n# Winner",
        "http://example.org www.example.org a@example.org @example #1 GH-1 :tada: $x$ ~~example~~ !example",
        "&lt;example&gt; &#124; &example;",
        "`example` | ``example",
        "\\| example \\",
        "**example** _example_ ![example](http://example.org)",
        "\r\n\r\n<img src=x onerror=example>",
        "``` \n example",
    ],
)
def test_a_submission_cannot_draw_into_the_page(hostile: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(to_markdown(rows(worded(hostile))))
    kinds = [token.type for token in tokens]
    assert (kinds.count("heading_open"), kinds.count("tr_open"), kinds.count("td_open")) == (2, 3, 24)
    assert not {"html_block", "code_block", "fence"} & set(kinds)
    parts = [part for token in tokens for part in token.children or ()]
    assert {part.type for part in parts} == {"text", "code_inline"}
    assert [part for part in parts if part.type == "text" and "example" in part.content] == []


def test_no_file_steers_the_terminal_that_shows_it() -> None:
    for text in (to_csv(rows(worded(STEERING))), to_markdown(rows(worded(STEERING)))):
        assert text.replace("\n", "").isprintable()
    assert len(to_csv(rows(worded(STEERING))).splitlines()) == 3


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", " =1", "x;=1", "x; -1", ';"=1', "\uff1d1", "\x00=1"]
)
def test_no_text_is_a_formula_of_a_spreadsheet(text: str) -> None:
    table = to_csv(rows(worded(text)))
    for line in csv.reader(io.StringIO(table)):
        for cell in line:
            assert cell.isprintable()
            assert not cell.lstrip(' "').startswith(("=", "+", "-", "@", "\uff1d"))
    assert not any(part.lstrip(' "').startswith(("=", "-")) for part in table.split(";"))


def test_numbers_stay_numbers_beside_text_that_is_neutralised() -> None:
    (row,) = rows([timed("-1", 50_000)])
    frame = pd.read_csv(io.StringIO(to_csv([{**row, "margin": -0.5}])))
    assert list(frame["submission"]) == ["'-1"]
    assert (list(frame["margin"]), list(frame["speedup"]), list(frame["seed"])) == ([-0.5], [2.0], [7])


def test_plain_names_and_reasons_are_as_they_were() -> None:
    (row,) = rows([timed("mine-2", 10, status=Status.INCORRECT, reason="y[0]: got -1; expected 0", timings=())])
    (cells,) = csv.DictReader(io.StringIO(to_csv([row])))
    assert (cells["submission"], cells["reason"]) == ("mine-2", "y[0]: got -1; expected 0")
    assert "| `mine-2` |" in to_markdown([row])
    assert "| incorrect with seed 7: `y[0]: got -1; expected 0` |" in to_markdown([row])


def test_the_page_tells_what_was_left_out_and_what_stood_there_twice(tmp_path: Path) -> None:
    record = timed("a", 50_000)
    runs = make_loaded([record, record]).summaries
    problems = [Problem("results.jsonl:2", "not a line of JSON `<script>`")]
    written = write(Loaded(runs, problems, 1), tmp_path, problems=[Problem("run/summary.json", "not JSON")])
    assert [path.name for path in written] == ["leaderboard.csv", "totals.csv", "README.md"]
    page = (tmp_path / "README.md").read_text()
    assert "- `results.jsonl:2`: `not a line of JSON '<script>'`" in page
    assert "- `run/summary.json`: `not JSON`" in page
    assert "Lines that repeat a run, which counts once: 1" in page


def test_a_flood_of_problems_does_not_drown_the_page(tmp_path: Path) -> None:
    problems = [Problem(f"results.jsonl:{number}", "not a line of JSON") for number in range(1, 1001)]
    write(Loaded([], problems, 0), tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "- and 950 more" in page
    assert len(page) < 5000


def test_an_empty_board_has_its_headings(tmp_path: Path) -> None:
    write(Loaded([], [], 0), tmp_path)
    assert (tmp_path / "leaderboard.csv").read_text() == ",".join(COLUMNS) + "\n"
    assert pd.read_csv(tmp_path / "totals.csv").empty


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    loaded = make_loaded(confirmed(*(timed(f"s{i}", 10_000 * (i + 1)) for i in range(5))))
    first, second = (write(loaded, tmp_path / name) for name in ("first", "second"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert len(first) == 3


@pytest.mark.parametrize("hostile", ["`|<b>\n# x", "=1+1", STEERING])
def test_nothing_of_the_whole_page_is_markup_of_a_record(hostile: str, tmp_path: Path) -> None:
    write(make_loaded(worded(hostile)), tmp_path)
    tokens = MarkdownIt("commonmark").enable("table").parse((tmp_path / "README.md").read_text())
    assert not {"html_block", "code_block", "fence"} & {token.type for token in tokens}
    assert "html_inline" not in {part.type for token in tokens for part in token.children or ()}
    for name in ("leaderboard.csv", "totals.csv"):
        assert (tmp_path / name).read_text().replace("\n", "").isprintable()

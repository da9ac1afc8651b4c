"""Rows to totals: what an author attempted, and what came of it."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from robust_kbench.leaderboard.rows import COLUMNS, Row
from robust_kbench.leaderboard.totals import TOTAL_COLUMNS, Total, to_markdown, totals


def ranked(task: str, speedup: float, **changes: Any) -> Row:
    facts = {
        "task": task, "task_version": 1, "device": "a processor", "dtype": "float32", "rank": 1, "author": "alice",
        "track": "open", "precision": "ieee", "rule": "rule", "kbench": "0.1.0", "status": "passed",
        "speedup": speedup, "speedup_low": speedup * 0.9, "speedup_high": speedup * 1.1, "standing": "self-reported",
    }  # fmt: skip
    return {**dict.fromkeys(COLUMNS), **facts, **changes}


def failed(task: str, status: str = "incorrect", **changes: Any) -> Row:
    nothing = dict.fromkeys(("rank", "speedup", "speedup_low", "speedup_high"))
    return {**ranked(task, 1.0), **nothing, "status": status, **changes}


def unconfirmed(task: str, **changes: Any) -> Row:
    return ranked(task, 9.0, rank=None, **changes)


def total(*rows: Row) -> Total:
    (found,) = totals(rows)
    return found


def test_a_failure_counts_as_one_and_the_means_without_it_stand_beside() -> None:
    found = total(ranked("a", 4.0), ranked("b", 16.0), failed("c"), failed("d", "build_failed"))
    assert (found["tasks"], found["passed"], found["unconfirmed"]) == (4, 2, 0)
    assert found["geomean"] == pytest.approx(64**0.25)
    assert found["geomean_passed"] == pytest.approx(8.0)
    assert (found["median"], found["median_passed"]) == pytest.approx((2.5, 10.0))


def test_fast_p_is_the_share_of_what_was_attempted_that_is_right_and_faster_than_p() -> None:
    found = total(*(ranked(f"t{s}", s) for s in (0.5, 1.0, 1.2, 1.6, 2.0, 2.5, 4.5)), failed("x"))
    shares = {name: found[name] for name in ("fast_0", "fast_1", "fast_1.5", "fast_2", "fast_4")}
    assert shares == {"fast_0": 7 / 8, "fast_1": 5 / 8, "fast_1.5": 4 / 8, "fast_2": 2 / 8, "fast_4": 1 / 8}


def test_who_attempts_only_what_is_easy_is_told_by_the_number_of_tasks() -> None:
    easy, brave = totals(
        [ranked("a", 4.0, author="easy"), ranked("a", 4.0, author="brave"), failed("b", author="brave")]
    )
    assert (easy["author"], easy["tasks"], easy["geomean"]) == ("easy", 1, 4.0)
    assert (brave["author"], brave["tasks"], brave["geomean"]) == ("brave", 2, pytest.approx(2.0))


def test_of_several_submissions_the_one_with_the_highest_bound_counts() -> None:
    lucky = ranked("a", 5.0, speedup_low=1.0)
    found = total(lucky, ranked("a", 3.0, speedup_low=2.9), failed("a"))
    assert (found["tasks"], found["geomean"]) == (1, pytest.approx(3.0))


def test_what_was_not_confirmed_is_neither_a_success_nor_a_failure() -> None:
    found = total(ranked("a", 2.0), unconfirmed("b"), unconfirmed("a"))
    assert (found["tasks"], found["passed"], found["unconfirmed"], found["geomean"]) == (1, 1, 1, pytest.approx(2.0))
    alone = total(unconfirmed("b"))
    assert (alone["tasks"], alone["unconfirmed"], alone["geomean"], alone["fast_0"]) == (0, 1, None, None)


def test_a_failure_beside_what_was_not_confirmed_is_a_failure() -> None:
    found = total(unconfirmed("a"), failed("a"))
    assert (found["tasks"], found["passed"], found["unconfirmed"]) == (1, 0, 0)


def test_what_a_machine_could_not_run_was_not_attempted() -> None:
    assert totals([failed("a", "unsupported")]) == []


@pytest.mark.parametrize("standing", ["altered", "self-reported; not trusted"])
def test_nobody_fails_by_what_somebody_else_has_made_up(standing: str) -> None:
    found = total(ranked("a", 2.0), failed("b", standing=standing))
    assert (found["tasks"], found["geomean"]) == (1, pytest.approx(2.0))


def test_of_a_task_with_several_versions_the_newest_counts() -> None:
    found = total(ranked("a", 9.0), ranked("a", 2.0, task_version=2), ranked("b", 2.0))
    assert (found["tasks"], found["geomean"]) == (2, pytest.approx(2.0))


@pytest.mark.parametrize("term", ["device", "kbench", "rule", "precision", "dtype", "author", "track"])
def test_what_was_measured_under_other_terms_is_added_up_apart(term: str) -> None:
    found = totals([ranked("a", 2.0), ranked("b", 8.0, **{term: "another"})])
    assert sorted(each["geomean"] for each in found) == pytest.approx([2.0, 8.0])


def test_shares_of_the_floor_are_of_the_tasks_that_know_it() -> None:
    found = total(
        ranked("a", 2.0, roofline=0.2, sol_score=0.5), ranked("b", 2.0, roofline=0.8, sol_score=None), ranked("c", 2.0)
    )
    assert (found["roofline"], found["roofline_tasks"]) == (pytest.approx(0.4), 2)
    assert (found["sol_score"], found["sol_tasks"]) == (pytest.approx(0.5), 1)


def test_the_highest_mean_comes_first_and_the_order_of_rows_means_nothing() -> None:
    rows = [ranked(task, speed, author=name) for name, speed in (("a", 2.0), ("b", 4.0), ("c", 3.0)) for task in "xyz"]
    assert [each["author"] for each in totals(rows)] == ["b", "c", "a"]
    assert totals(random.Random(1).sample(rows, len(rows))) == totals(rows)


def test_the_page_has_a_table_for_each_set_of_terms() -> None:
    page = to_markdown(totals([ranked("a", 2.0), failed("b"), ranked("a", 3.0, dtype="float16")]))
    assert "| `alice` | `open` | 2 | 1 | 50% | 50% | 50% | 0% | 0% | 1.41x | 2.00x | 1.50x | 2.00x |  |  |" in page
    assert page.count("| author |") == 2
    assert to_markdown([]) == ""


def test_every_column_is_documented_in_order() -> None:
    assert tuple(total(ranked("a", 2.0))) == TOTAL_COLUMNS
    text = (Path(__file__).parents[2] / "docs/leaderboard.md").read_text()
    section = text.partition("<!-- totals -->")[2].partition("<!-- end of totals -->")[0]
    assert tuple(re.findall(r"`([\w.]+)`", section)) == TOTAL_COLUMNS

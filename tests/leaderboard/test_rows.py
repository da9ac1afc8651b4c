"""Runs that are vouched for, runs that were run again, and the remarks beside a speedup."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from specimens import make_record, make_summaries

from robust_kbench.leaderboard.rows import COLUMNS, Row, is_left_out, rows
from robust_kbench.leaderboard.summary import Summary
from robust_kbench.schema.record import Session, Status, Timing, encode_samples

ALICE, BOB = "a1" * 32, "b0" * 32


def run(
    name: str = "mine", candidate: int = 50_000, minute: int = 1, key: str | None = None, **changes: Any
) -> Summary:
    """Make a rankable run against 100 us of eager and 80 us of compile; sealed, and signed where there is a key."""
    times = {"candidate": candidate, "eager": 100_000, "compile": 80_000}
    session = Session(samples={who: encode_samples([ns] * 20) for who, ns in times.items()}, foreign_load=0.0)
    timings = (Timing(axes={"rows": 1}, dtype="float32", sessions=(session,) * 3, floor_us=20.0),)
    facts = {"submission": name, "submission_digest": f"sha256:{name}", "timings": timings}
    record = make_record(**{**facts, "started_at": f"2026-01-02T03:{minute:02}:05Z", **changes})
    (found,) = make_summaries([record])
    sealed: dict[str, Any] = {"digest": f"sha256:{name}{minute}", "intact": True, "signer": key}
    return replace(found, **sealed)


def twice(name: str = "mine", candidate: int = 50_000, **changes: Any) -> list[Summary]:
    return [run(name, candidate, minute, **changes) for minute in (1, 2)]


def failed(name: str = "mine", minute: int = 3, **changes: Any) -> Summary:
    return run(name, minute=minute, status=Status.INCORRECT, reason="y[0] is wrong", timings=(), **changes)


def by_name(found: Iterable[Row]) -> dict[str, Row]:
    return {row["submission"]: row for row in found}


def test_a_row_has_the_documented_columns_in_their_order() -> None:
    for row in rows([*twice(), failed("wrong")]):
        assert tuple(row) == COLUMNS


def test_speedups_over_eager_and_compile_have_intervals() -> None:
    (row,) = rows(twice())
    assert (row["speedup"], row["vs_compile"], row["vs_eager"]) == pytest.approx((1.6, 1.6, 2.0))
    for name in ("speedup", "vs_eager", "vs_compile"):
        assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]


def test_a_row_tells_how_far_the_floor_is() -> None:
    (row,) = rows(twice())
    assert row["roofline"] == row["floor_share"] == pytest.approx(0.4)
    assert row["sol_score"] == pytest.approx((80 - 20) / ((80 - 20) + (50 - 20)))


@pytest.mark.parametrize(
    ("candidate", "fast"), [(79_000, 1), (81_000, 0), (50_000, 1.5), (30_000, 2), (19_000, 4), (1_000, 4)]
)
def test_a_ranked_row_tells_how_fast_it_is_at_least(candidate: int, fast: float) -> None:
    (row,) = rows(twice(candidate=candidate))
    assert row["dtype_fast"] == fast


def test_a_row_without_a_rank_is_not_told_to_be_fast() -> None:
    (row,) = rows([run()])
    assert (row["rank"], row["dtype_fast"]) == (None, None)


def test_rows_that_share_a_rank_are_told_to_be_ties() -> None:
    found = by_name(rows([*twice("a"), *twice("b"), *twice("c", 60_000)]))
    assert {name: (row["rank"], row["tie"]) for name, row in found.items()} == {"a": (1, 1), "b": (1, 1), "c": (3, 0)}


def test_a_row_names_the_record_that_it_publishes() -> None:
    (row,) = rows(twice())
    assert row["record"] == "sha256:mine2"


def test_equal_sources_under_another_name_are_told_with_the_earliest() -> None:
    same: dict[str, Any] = {"submission_digest": "sha256:same"}
    elsewhere: dict[str, Any] = {**same, "environment": {"device": "another"}}
    first, second = twice("first", **same)
    copies = [run("copy", minute=minute, **elsewhere) for minute in (4, 5)]
    third = run("third", minute=9, **elsewhere)
    found = by_name(rows([*copies, third, second, first, *twice("other")]))
    told = {name: row["same_source_as"] for name, row in found.items()}
    assert told == {"first": "copy", "copy": "first", "other": ""}


def test_who_runs_the_sources_of_somebody_again_gets_no_credit() -> None:
    same: dict[str, Any] = {"submission_digest": "sha256:same"}
    mine = run("mine", author="alice", **same)
    (row,) = rows([mine, run("theirs", minute=2, author="mallory", **same)])
    assert (row["rank"], row["submission"], row["author"]) == (1, "mine", "alice")
    assert row["same_source_as"] == "theirs"


def test_with_trusted_keys_nobody_else_puts_a_name_on_a_row() -> None:
    same: dict[str, Any] = {"submission_digest": "sha256:same"}
    found = rows([*twice("mine", key=ALICE, **same), run("rude words", minute=9, **same)], frozenset({ALICE}))
    assert [row["same_source_as"] for row in found if row["rank"]] == [""]


def test_editions_of_a_task_are_ranked_apart() -> None:
    found = rows([*twice("one", task_digest="sha256:1"), *twice("other", task_digest="sha256:2")])
    assert [row["rank"] for row in found] == [1, 1]


def forged(each: Summary, key: str | None, **changes: Any) -> Summary:
    """Return the same run in a later line, with a digest that comes first."""
    place = replace(each.place, number=each.place.number + 1)
    return replace(each, digest="sha256:0", signer=key, place=place, **changes)


@pytest.mark.parametrize("trusted", [frozenset({ALICE}), frozenset[str]()], ids=["trusted", "nobody trusted"])
@pytest.mark.parametrize("signers", [(ALICE, BOB), (ALICE, None), (None, None)], ids=["both", "one", "none"])
def test_a_copy_that_tells_something_else_replaces_no_run(
    signers: tuple[str | None, str | None], trusted: frozenset[str]
) -> None:
    mine, theirs = signers
    first, second = twice(key=mine)
    copy = forged(second, theirs, status="incorrect", is_rankable=False)
    assert [row["rank"] for row in rows([first, second, copy]) if row["runs"]] == [1]
    if mine:
        assert [row["rank"] for row in rows([first, second, copy], trusted) if row["runs"]] == [1]


def test_of_two_words_about_a_run_the_trusted_one_counts_also_if_it_comes_last() -> None:
    first, second = twice(key=BOB)
    mine = forged(second, ALICE)
    told = rows([first, second, mine, forged(first, ALICE)], frozenset({ALICE}))
    assert [(row["rank"], row["standing"]) for row in told] == [(1, "signed by a1a1a1a1…")]


def test_who_vouches_for_a_row_is_told() -> None:
    found = by_name(rows([*twice("plain"), *twice("signed", key=ALICE)]))
    assert {name: row["standing"] for name, row in found.items()} == {
        "plain": "self-reported",
        "signed": "signed by a1a1a1a1…",
    }


def altered(each: Summary) -> Summary:
    return replace(each, intact=False, signer=None)


def test_an_altered_record_is_shown_and_never_ranked() -> None:
    (row,) = rows(map(altered, twice()))
    assert (row["rank"], row["runs"], row["standing"]) == (None, 0, "altered")
    assert row["reason"] == "not ranked: the record is not what was sealed"
    assert is_left_out(row)


def test_an_altered_record_neither_confirms_a_run_nor_costs_its_rank() -> None:
    nominated = [run(), altered(run(minute=2, candidate=10))]
    assert {row["standing"]: (row["rank"], row["runs"]) for row in rows(nominated)} == {
        "self-reported": (None, 1),
        "altered": (None, 0),
    }
    ranked, shown = rows([*twice(), altered(failed())])
    assert (ranked["rank"], ranked["status"]) == (1, "passed")
    assert (shown["rank"], shown["status"], shown["standing"]) == (None, "incorrect", "altered")


def test_with_trusted_keys_only_what_they_signed_is_ranked() -> None:
    every = [*twice("plain", 20_000), *twice("alice", key=ALICE), *twice("bob", 10_000, key=BOB)]
    found = by_name(rows(every, frozenset({ALICE})))
    assert {name: row["rank"] for name, row in found.items()} == {"alice": 1, "plain": None, "bob": None}
    assert found["plain"]["standing"] == "self-reported; not trusted"
    assert found["bob"]["standing"] == "signed by b0b0b0b0…; not trusted"
    assert found["bob"]["reason"] == "not ranked: not signed by a trusted key"
    assert {row["rank"] for row in rows(every)} == {1, 2, 3}


def test_with_trusted_keys_nobody_else_confirms_or_costs_a_rank() -> None:
    trusted = frozenset({ALICE})
    (mine,) = (row for row in rows([run(key=ALICE), run(minute=2, key=BOB), run(minute=3)], trusted) if row["runs"])
    assert (mine["rank"], mine["runs"], mine["standing"]) == (None, 1, "signed by a1a1a1a1…")
    found = rows([*twice(key=ALICE), failed(), failed(minute=4, key=BOB)], trusted)
    assert [row["rank"] for row in found] == [1, None]
    (row,) = rows([*twice(key=ALICE), failed(key=ALICE)], trusted)
    assert (row["rank"], row["status"]) == (None, "incorrect")


def again(record: str, verdict: bool = True, speed: bool | None = True, by: str | None = None) -> Any:
    return SimpleNamespace(record=record, verdict_confirmed=verdict, speed_confirmed=speed, by=by)


@pytest.mark.parametrize(
    ("confirmations", "standing"),
    [
        ([again("sha256:mine2")], "confirmed by verify"),
        ([again("sha256:mine2", speed=None)], "confirmed by verify"),
        ([again("sha256:mine2", speed=False)], "contradicted by verify"),
        ([again("sha256:mine2", verdict=False)], "contradicted by verify"),
        ([again("sha256:mine2"), again("sha256:mine2", verdict=False)], "contradicted by verify"),
        ([again("sha256:mine1")], "self-reported"),
        ([again("")], "self-reported"),
    ],
    ids=["both", "verdict", "other speed", "other verdict", "not by all", "another record", "no record"],
)
def test_a_record_that_was_run_again_says_what_came_of_it(confirmations: list[Any], standing: str) -> None:
    (row,) = rows(twice(), confirmations=confirmations)
    assert row["standing"] == standing
    assert row["rank"] == 1


def test_a_signed_record_that_was_confirmed_says_both() -> None:
    (row,) = rows(twice(key=ALICE), confirmations=[again("sha256:mine2")])
    assert row["standing"] == "signed by a1a1a1a1…; confirmed by verify"


def test_with_trusted_keys_only_they_confirm() -> None:
    trusted = frozenset({ALICE})
    for by, word in ((ALICE, "; confirmed by verify"), (BOB, ""), (None, "")):
        (row,) = rows(twice(key=ALICE), trusted, [again("sha256:mine2", by=by)])
        assert row["standing"] == f"signed by a1a1a1a1…{word}"


def test_an_altered_record_is_not_confirmed() -> None:
    (row,) = rows(map(altered, twice()), confirmations=[again("sha256:mine1"), again("sha256:mine2")])
    assert row["standing"] == "altered"


def test_the_order_of_summaries_means_nothing() -> None:
    every = [*twice("a", key=ALICE), *twice("b"), failed("b"), *map(altered, twice("a", 10)), *twice("c")]
    assert rows(every) == rows(reversed(every))

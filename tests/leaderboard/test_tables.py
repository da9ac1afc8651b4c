"""Records to rows, CSV and Markdown."""

from __future__ import annotations

import io
import random

import pandas as pd
import pytest
from specimens import make_record

from robust_kbench.leaderboard.rows import COLUMNS, Row, rows
from robust_kbench.leaderboard.tables import to_csv, to_markdown
from robust_kbench.schema.record import RunRecord, Session, Status, Timing, encode_samples

RANKED = {"tier": "full", "replay": False, "execution": "native", "handshake": "spin", "status": Status.PASSED}


def timed(name: str, candidate: int, **changes: object) -> RunRecord:
    """A rankable record whose candidate takes `candidate` ns and eager 100 000."""
    samples = {"candidate": [candidate] * 20, "eager": [100_000] * 20}
    one = Session(samples={key: encode_samples(values) for key, values in samples.items()}, foreign_load=0.0)
    timings = (Timing(axes={"rows": 1}, dtype="float32", sessions=(one,)),)
    fields = {"submission": name, "submission_digest": f"sha256:{name}", "dtypes": ("float32",), "timings": timings}
    return make_record(**{**RANKED, **fields, **changes})


def confirmed(*records: RunRecord) -> list[RunRecord]:
    """Each of them twice, a minute apart."""
    return [*records, *(each.model_copy(update={"started_at": "2026-01-02T03:05:05Z"}) for each in records)]


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


def test_a_failure_takes_the_rank_away_until_two_more_runs_have_passed() -> None:
    passed = [at(minute, timed("a", 50_000)) for minute in (1, 2)]
    failed = at(3, timed("a", 10, status=Status.REJECTED, timings=()))
    again = [at(minute, timed("a", 40_000)) for minute in (4, 5)]
    assert [row["status"] for row in rows([*passed, failed])] == ["rejected"]
    assert ranks(rows([*passed, failed, again[0]])) == {"a": None}
    assert ranks(rows([*passed, failed, *again])) == {"a": 1}


def test_runs_of_another_rule_do_not_confirm_each_other() -> None:
    assert ranks(rows([at(1, timed("a", 50_000, rule="old")), at(2, timed("a", 50_000))])) == {"a": None}


def test_other_devices_versions_and_contracts_are_ranked_apart() -> None:
    elsewhere = {"environment": {"device": "another", "kbench": "0.1.0"}}
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


def test_a_submission_cannot_draw_into_the_page() -> None:
    hostile = "x | 1 | [best](http://example.org) <script>\n# Winner"
    page = to_markdown(rows([timed("n", 10, submission=hostile, status=Status.INCORRECT, reason=hostile, timings=())]))
    assert "\n# Winner" not in page
    assert "<script>" not in page
    assert "[best](" not in page

"""Facts that are kept of a record, and the harm that a foreign store can do to its readers."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from specimens import make_record, make_result, make_summaries

from robust_kbench import store
from robust_kbench.leaderboard import summary as module
from robust_kbench.leaderboard.summary import Loaded, Summary, distinct, summaries
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import RunRecord, Session, Status, Timing, encode_samples
from robust_kbench.scoring import score
from robust_kbench.signing import seal


def timing(dtype: str = "float32", rows: int = 8, floor_us: float | None = None, **times_ns: int) -> Timing:
    samples = {name: encode_samples([ns] * 20) for name, ns in times_ns.items()}
    sessions = (Session(samples=samples, foreign_load=0.0),) * 3
    return Timing.model_validate({"axes": {"rows": rows}, "dtype": dtype, "sessions": sessions, "floor_us": floor_us})


def summary_of(record: RunRecord) -> Summary:
    (found,) = make_summaries([record])
    return found


TWO = make_record(
    dtypes=("float32", "float16"),
    timings=(
        timing(rows=8, floor_us=10.0, candidate=20_000, eager=100_000, compile=40_000),
        timing(rows=16, floor_us=20.0, candidate=40_000, eager=100_000, compile=80_000),
        timing("float16", candidate=10_000, eager=30_000),
    ),
    cases=(
        make_result(errors=(1.0, 3.0), limits=(4.0, 4.0)),
        make_result(errors=(1.0,), limits=(2.0,), status="incorrect"),
        make_result(dtype="float16"),
    ),
    findings=(Finding(guard="load", severity="warn", message="others were at work"),),
    environment={"device": "a processor", "kbench": "0.1.0", "torch": "2.13.0", "harness": "0123"},
)


def test_a_summary_says_what_the_record_says() -> None:
    found = summary_of(TWO)
    assert (found.device, found.device_kind, found.kbench, found.torch, found.driver, found.harness) == (
        "a processor", "cpu", "0.1.0", "2.13.0", "", "0123",
    )  # fmt: skip
    assert found.findings == (("load", "warn", "others were at work"),)
    assert (found.status, found.is_rankable, found.is_contender, found.is_discarded) == ("passed", True, True, False)
    assert found.source_digest == TWO.submission_digest


def test_each_dtype_has_its_scores_and_its_cases() -> None:
    found, scored = summary_of(TWO).scores, score(TWO)
    assert list(found) == ["float32", "float16"]
    line = found["float32"]
    assert (line.cases_passed, line.cases_drawn, line.worst_error_ratio) == (1, 2, 0.75)
    assert line.speedup == scored["float32"].speedup
    assert line.vs_eager == scored["float32"].ratio_against("eager")
    assert (line.fastest, line.verdict) == ("compile", "faster")
    assert (line.median_us, line.baseline_median_us) == pytest.approx((math.sqrt(800), math.sqrt(3200)))
    assert found["float16"].vs_compile is None
    assert (found["float16"].floor_share, found["float16"].sol_score) == (None, None)


def test_each_timed_case_is_a_binding() -> None:
    first, second, third = summary_of(TWO).bindings
    assert (first.axes, first.dtype, first.floor_us) == ({"rows": 8}, "float32", 10.0)
    assert first.medians_us == {"candidate": 20.0, "eager": 100.0, "compile": 40.0}
    assert first.floor_share == pytest.approx(0.5)
    assert first.sol_score == pytest.approx(1 / (1 + (20 - 10) / (40 - 10)))
    assert second.sol_score == pytest.approx(0.75)
    assert (third.dtype, third.floor_share, third.sol_score) == ("float16", None, None)
    assert summary_of(TWO).scores["float32"].floor_share == pytest.approx(0.5)
    assert summary_of(TWO).scores["float32"].sol_score == pytest.approx(0.75)


def test_a_dtype_that_was_not_timed_has_a_line_without_a_speedup() -> None:
    line = summary_of(make_record(status=Status.INCORRECT, timings=(), cases=(make_result(),))).scores["float32"]
    assert (line.cases_drawn, line.speedup, line.median_us) == (1, None, None)


def test_no_sample_is_kept() -> None:
    samples = {name: encode_samples(range(1, 400)) for name in ("candidate", "eager")}
    many = Timing(axes={"rows": 8}, dtype="float32", sessions=(Session(samples=samples, foreign_load=0.0),) * 8)
    record = make_record(timings=(many,), cases=tuple(make_result(seed=n) for n in range(150)))
    assert len(store.to_line(record)) > 20_000
    assert len(pickle.dumps(summary_of(record))) < 4000


def damaged(**samples: str) -> RunRecord:
    broken = Session(samples=samples, foreign_load=0.0)
    return make_record(timings=(*TWO.timings[:1], Timing(axes={"rows": 1}, dtype="float32", sessions=(broken,))))


@pytest.mark.parametrize(
    "record",
    [
        damaged(candidate="x", eager="AAAAAA=="),
        damaged(candidate="AAAA", eager="AAAA"),
        damaged(candidate="", eager=""),
        damaged(candidate="AAAAAA=="),
        damaged(eager="AAAAAA=="),
        damaged(candidate="AAAAAA==", eager="AAAAAAAAAAA="),
        make_record(timings=(Timing(axes={}, dtype="float32", sessions=()),)),
    ],
    ids=["no base64", "no samples", "empty", "alone", "without the candidate", "uneven", "no session"],
)
def test_a_record_whose_samples_are_damaged_is_told_and_not_ranked(record: RunRecord) -> None:
    found = summary_of(record)
    assert not found.is_rankable
    assert found.reason.startswith("its samples cannot be scored: ")
    assert (found.bindings, found.scores["float32"].speedup) == ((), None)


ODD_LIMITS: list[tuple[tuple[float, ...], tuple[float, ...]]] = [
    ((1.0,), (0.0,)),
    ((1e308,), (1e-308,)),
    ((), ()),
    ((1.0,), ()),
]


@pytest.mark.parametrize("us", [0.0, -1.0, 1e308, 5e-324])
def test_no_figure_of_a_record_is_infinite(us: float) -> None:
    odd = timing(candidate=0, eager=2**32 - 1, floor_us=us)
    sessions = tuple(each.model_copy(update={"hot_us": {"candidate": us}}) for each in odd.sessions)
    cases = tuple(make_result(errors=errors, limits=limits) for errors, limits in ODD_LIMITS)
    found = summary_of(make_record(timings=(odd.model_copy(update={"sessions": sessions}),), cases=cases))
    line = found.scores["float32"]
    assert line.worst_error_ratio is None
    numbers = [each for each in (*line, *found.bindings[0]) if isinstance(each, float)]
    assert len(numbers) > 4
    assert all(map(math.isfinite, numbers))


def at(minute: int, **changes: Any) -> RunRecord:
    return make_record(started_at=f"2026-01-02T03:{minute:02}:05Z", **changes)


def test_runs_are_in_order_of_time_and_each_is_there_once() -> None:
    found = make_summaries([at(3), at(1), at(2), at(1)])
    assert [each.started_at[14:16] for each in distinct(found)] == ["01", "02", "03"]
    assert distinct(reversed(found)) == distinct(found)


def test_a_line_that_is_added_later_replaces_no_run() -> None:
    first, second = make_summaries([at(1, reason="first"), at(1, reason="second")])
    assert distinct([second, first])[0].reason == "first"


def test_of_copies_of_a_run_the_one_that_is_vouched_for_counts() -> None:
    plain, other, third = make_summaries([at(1), at(1), at(1)])
    signed = replace(other, intact=True, signer="ab" * 32, digest="sha256:2")
    altered = replace(third, intact=False, digest="sha256:0")
    assert distinct([altered, plain, signed]) == [signed]
    assert distinct([altered, plain]) == [plain]


def test_an_unsealed_record_is_not_replaced_by_one_with_a_digest_of_its_own() -> None:
    plain, sealed = make_summaries([at(1), seal(at(1, reason="another"))])
    assert distinct([sealed, plain]) == [plain]


def test_a_record_is_known_by_the_digest_of_its_content_whether_it_is_sealed_or_not(tmp_path: Path) -> None:
    sealed = seal(at(1))
    for line, intact in ((store.to_line(at(1)), None), (store.to_line(sealed), True)):
        (found,) = summaries([written(tmp_path, line)]).summaries
        assert (found.digest, found.intact) == (sealed.digest, intact)


def test_lines_that_tell_different_things_of_a_run_are_told_and_kept(tmp_path: Path) -> None:
    path = written(tmp_path, store.to_line(at(1)), store.to_line(at(2)), store.to_line(at(1, author="Mallory")))
    loaded = summaries([path])
    assert (len(loaded.summaries), loaded.duplicates) == (3, 0)
    assert [each.where for each in loaded.problems] == [f"{path}:3"]
    assert loaded.problems[0].what == f"tells something else of the run that {path}:1 tells of; one of them counts"


def written(folder: Path, *lines: bytes) -> Path:
    path = folder / "results.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def test_what_cannot_be_read_is_told_with_its_line_and_costs_no_other(tmp_path: Path) -> None:
    good, other = store.to_line(at(1)), store.to_line(at(2))
    path = written(tmp_path, good, b"{]\n", b'{"schema_version":1}\n', b"\xff\xfe\n", other, good, other[:99])
    loaded = summaries([path])
    assert [each.place.number for each in loaded.summaries] == [1, 5]
    assert loaded.duplicates == 1
    told = [problem.where.rpartition(":")[2] for problem in loaded.problems]
    assert told[:3] == ["2", "3", "4"]
    assert all(problem.where.startswith(str(path)) for problem in loaded.problems)
    assert all(problem.what.isprintable() and len(problem.what) <= 300 for problem in loaded.problems)


def test_what_surprises_us_in_a_record_is_told_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, store.to_line(at(1)), store.to_line(at(2)))
    whole = module.summarise

    def surprised(record: RunRecord, place: Any, *rest: Any, **choices: Any) -> Summary:
        if place.number == 1:
            raise KeyError("\x1b[2J")
        return whole(record, place, *rest, **choices)

    monkeypatch.setattr(module, "summarise", surprised)
    loaded = summaries([path])
    assert [(each.where, each.what) for each in loaded.problems] == [(f"{path}:1", "cannot be read: KeyError")]
    assert len(loaded.summaries) == 1


@pytest.mark.parametrize("beside", [make_record(timings=()), damaged(candidate="AAAAAA==")], ids=["untimed", "damaged"])
def test_records_are_scored_together_as_they_are_alone(beside: RunRecord, tmp_path: Path) -> None:
    quick = make_record(timings=(timing(candidate=7_000, eager=9_001, control=9_002),))
    records = [run_at(each, minute) for minute, each in enumerate([quick, TWO, beside, TWO, quick])]
    together = summaries([written(tmp_path, *map(store.to_line, records))]).summaries
    alone = [summaries([written(tmp_path, store.to_line(each))]).summaries[0] for each in records]
    assert [each.scores for each in together] == [each.scores for each in alone]
    assert [each.bindings for each in together] == [each.bindings for each in alone]
    assert [len(each.bindings) for each in together] == [1, 3, 0, 3, 1]


@pytest.mark.parametrize("jobs", [1, 2])
def test_without_bindings_everything_else_is_told(jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", 2)
    path = written(tmp_path, *(store.to_line(run_at(TWO, minute)) for minute in range(5)))
    told, all_of_it = (summaries([path], jobs, with_bindings=choice).summaries for choice in (False, True))
    assert [len(each.bindings) for each in all_of_it] == [3] * 5
    assert told == [replace(each, bindings=()) for each in all_of_it]


def run_at(record: RunRecord, minute: int) -> RunRecord:
    return record.model_copy(update={"started_at": f"2027-01-02T03:{minute:02}:05Z"})


@pytest.mark.parametrize("threads", [1, 2], ids=["fork", "spawn"])
def test_several_processes_find_what_one_finds(threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [store.to_line(at(minute, seed=seed)) for minute in range(20) for seed in range(4)]
    lines[7], lines[40] = b"{\n", lines[0]
    path = written(tmp_path, *lines)
    alone = summaries([path], jobs=1)
    monkeypatch.setattr(module, "_FEW", 8)
    monkeypatch.setattr(threading, "active_count", lambda: threads)
    together = summaries([path], jobs=2)
    assert together == alone
    assert (len(together.summaries), together.duplicates, len(together.problems)) == (78, 1, 1)


def test_no_store_is_an_empty_board() -> None:
    assert summaries([]) == Loaded([], [], 0)


def test_reading_stores_and_writing_tables_does_not_import_torch() -> None:
    program = (
        "import sys, robust_kbench.leaderboard.summary, robust_kbench.leaderboard.tables;"
        "print([name for name in ('torch', 'triton', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr

from __future__ import annotations

import contextlib
import fcntl
import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest
from specimens import make_record, make_result

from robust_kbench import store
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.errors import HarnessError, SpecError
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.record import MAX_RECORD_BYTES, RunRecord, Session, Status, Tier, Timing, encode_samples
from robust_kbench.timing.plan import PLANS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.jsonl"


def _authors(path: Path) -> list[str]:
    return [record.author for record in store.read(path)]


def _line(**changes: Any) -> bytes:
    data = {**make_record().model_dump(mode="json"), **changes}
    return json.dumps(data).encode() + b"\n"


def test_records_are_read_in_the_order_in_which_they_were_appended(path: Path) -> None:
    records = [make_record(author=name) for name in ("first", "second", "third")]
    for record in records:
        store.append(path, record)
    assert list(store.read(path)) == records


def test_appending_makes_the_folder_of_the_store(tmp_path: Path) -> None:
    store.append(tmp_path / "new" / "deep" / "store.jsonl", make_record(author="me"))
    assert _authors(tmp_path / "new" / "deep" / "store.jsonl") == ["me"]


@pytest.mark.parametrize("kept", [1, 400, -1], ids=["one byte", "half", "all but the newline"])
def test_a_torn_tail_is_not_read_and_is_cut_off_by_the_next_writer(kept: int, path: Path) -> None:
    store.append(path, make_record(author="whole"))
    with path.open("ab") as file:
        file.write(_line(author="torn")[:kept])
    assert _authors(path) == ["whole"]
    store.append(path, make_record(author="next"))
    assert _authors(path) == ["whole", "next"]


def test_a_store_that_holds_nothing_but_a_torn_line_can_be_appended_to(path: Path) -> None:
    path.write_bytes(_line()[:100])
    store.append(path, make_record(author="next"))
    assert _authors(path) == ["next"]


def test_a_torn_tail_as_long_as_a_record_can_be_is_cut_without_touching_the_record_before(path: Path) -> None:
    store.append(path, make_record(author="whole"))
    with path.open("ab") as file:
        file.write(b"x" * (MAX_RECORD_BYTES - 1))
    store.append(path, make_record(author="next"))
    assert _authors(path) == ["whole", "next"]


def test_an_empty_store_holds_no_records(path: Path) -> None:
    path.touch()
    assert list(store.read(path)) == []


def test_a_store_that_does_not_exist_is_an_error(path: Path) -> None:
    with pytest.raises(SpecError, match="store.jsonl: No such file or directory"):
        list(store.read(path))


def test_concurrent_writers_lose_nothing_and_tear_nothing(path: Path) -> None:
    names = [f"writer {number}" for number in range(32)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda name: store.append(path, make_record(author=name)), names))
    assert sorted(_authors(path)) == sorted(names)


def test_a_writer_waits_for_the_one_before(path: Path) -> None:
    # Without the lock it could cut off as torn what another is still writing.
    with path.open("ab") as other, ThreadPoolExecutor(1) as threads:
        fcntl.flock(other, fcntl.LOCK_EX)
        writer = threads.submit(store.append, path, make_record(author="second"))
        with pytest.raises(TimeoutError):
            writer.result(timeout=0.05)
        other.write(_line(author="first"))
        other.flush()
        fcntl.flock(other, fcntl.LOCK_UN)
        writer.result(timeout=5)
    assert _authors(path) == ["first", "second"]


@pytest.mark.parametrize(
    ("middle", "message"),
    [
        (b"{broken\n", ":2: not a line of JSON"),
        (b"\n", ":2: not a line of JSON"),
        (b"\xff\xfe\n", ":2: not a line of JSON"),
        (b"[1, 2]\n", ":2: not a record"),
        (b"null\n", ":2: not a record"),
        (b"{}\n", ":2: task: missing; this key is required"),
        (_line(status="won"), ":2: status: "),
        (_line(speedup=2.0), ":2: speedup: unknown key"),
        (b"junk\r" + _line(), ":2: not a line of JSON"),
        (b"[" * 100_000 + b"\n", ":2: not a line of JSON"),
        (_line(seconds={"total": math.nan}), ":2: "),
    ],
    ids=[
        "broken", "empty", "not text", "a list", "null", "no keys", "bad value", "unknown key", "carriage return",
        "deep nesting", "not a number",
    ],
)  # fmt: skip
def test_a_broken_line_is_an_error_with_its_number(middle: bytes, message: str, path: Path) -> None:
    path.write_bytes(_line() + middle + _line())
    with pytest.raises(SpecError) as caught:
        list(store.read(path))
    assert str(caught.value).startswith(f"{path}{message}")


def test_records_before_a_broken_line_are_given_first(path: Path) -> None:
    path.write_bytes(_line(author="good") + b"broken\n")
    records = store.read(path)
    assert next(records).author == "good"
    with pytest.raises(SpecError, match=":2: not a line of JSON"):
        next(records)


def test_a_record_of_a_newer_format_asks_for_an_upgrade(path: Path) -> None:
    path.write_bytes(_line(schema_version=2, new_key=1))
    with pytest.raises(SpecError, match=":1: schema_version 2 is newer than this kbench reads; upgrade robust-kbench"):
        list(store.read(path))


def test_a_record_of_an_unknown_older_format_is_refused(path: Path) -> None:
    path.write_bytes(_line(schema_version=0))
    with pytest.raises(SpecError, match=":1: schema_version: "):
        list(store.read(path))


def test_a_record_above_the_size_limit_is_refused_and_leaves_the_store_as_it_was(path: Path) -> None:
    store.append(path, make_record(author="before"))
    with pytest.raises(HarnessError, match=f"bytes; the format allows {MAX_RECORD_BYTES:,}"):
        store.append(path, make_record(environment={"x": "y" * MAX_RECORD_BYTES}))
    assert _authors(path) == ["before"]


def test_a_long_log_gives_way_before_the_record_does(path: Path) -> None:
    names = {"x": "y" * (MAX_RECORD_BYTES - 12_000)}
    store.append(path, make_record(author="author", environment=names, log="\0" * 4000))
    (record,) = store.read(path)
    assert record.log == "\0" * 300


def test_a_name_that_is_no_unicode_does_not_make_a_store_unreadable(path: Path) -> None:
    # The name of a submission is that of its folder, and the name of a folder may be any bytes.
    with contextlib.suppress(HarnessError, ValueError):
        store.append(path, make_record(submission="\udcff"))
    store.append(path, make_record(author="next"))
    assert _authors(path)[-1] == "next"


def test_a_writer_that_waited_while_the_store_was_replaced_writes_to_the_new_one(path: Path) -> None:
    store.append(path, make_record(author="old"))
    with ThreadPoolExecutor(1) as threads:
        with store.locked(path):
            writer = threads.submit(store.append, path, make_record(author="next"))
            with pytest.raises(TimeoutError):
                writer.result(timeout=0.05)
            store.replace(path, [_line(author="new")])
        writer.result(timeout=5)
    assert _authors(path) == ["new", "next"]


def test_a_store_that_is_replaced_keeps_its_mode(path: Path) -> None:
    path.touch()
    path.chmod(0o640)
    store.replace(path, [_line(author="new")])
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_store_that_cannot_be_replaced_is_as_it_was_and_nothing_is_left_behind(path: Path) -> None:
    def lines() -> Iterator[bytes]:
        yield _line(author="new")
        raise RuntimeError("power cut")

    store.append(path, make_record(author="old"))
    with pytest.raises(RuntimeError, match="power cut"):
        store.replace(path, lines())
    assert _authors(path) == ["old"]
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_store_that_cannot_be_written_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SpecError, match="store.jsonl: Not a directory|File exists"):
        store.append(tmp_path / "file" / "store.jsonl", make_record())


@pytest.mark.parametrize(
    "line",
    [
        _line(author="first").replace(b'"seed"', b'"author": "last", "seed"'),
        _line(author="last").replace(b'"last"', b'"\\u006cast"'),
        _line(author="last").replace(b",", b" ,\t").rstrip(b"\n") + b"\r\n",
        b"\xef\xbb\xbf" + _line(author="last"),
    ],
    ids=["two keys of one name", "an escape", "space", "a mark of the order of bytes"],
)
def test_what_is_odd_and_allowed_is_read_as_it_always_was(line: bytes, path: Path) -> None:
    path.write_bytes(line)
    assert _authors(path) == ["last"]


def test_all_keys_are_told_but_an_empty_seal() -> None:
    assert list(store.as_json(make_record())) == [name for name in RunRecord.model_fields if name not in store.SEAL]


def test_a_line_has_no_spaces_and_the_keys_in_the_order_of_the_format() -> None:
    line = store.to_line(make_record())
    assert line.startswith(b'{"schema_version":1,"task":"norm/scale","task_version":1,')


@pytest.mark.rotating
@pytest.mark.parametrize("tier", get_args(Tier))
def test_the_largest_record_that_a_tier_can_make_fits_the_format(tier: Tier) -> None:
    for name in task_names():
        assert len(store.to_line(_largest(name, tier))) <= MAX_RECORD_BYTES


@pytest.mark.parametrize("tier", get_args(Tier))
def test_a_submission_that_fails_every_case_at_length_can_still_be_recorded(tier: Tier) -> None:
    # A submission chooses the text of its exceptions, so it must not be able to keep itself out of the store.
    case = make_result(status="crashed", reason="\N{SNOWMAN}" * 1000, axes={"rows": 16384, "cols": 16384})
    record = make_record(status=Status.CRASHED, cases=(case,) * BUDGETS[tier].cases, timings=())
    assert len(store.to_line(record)) <= MAX_RECORD_BYTES


def _largest(name: str, tier: Tier) -> RunRecord:
    task, plan = load_task(name).spec, PLANS[tier]
    suite = draw_suite(task, 2**53 - 1, budget=BUDGETS[tier], dtypes=task.dtypes, device="cpu", dense=False)
    # Of the timed shapes a record keeps one result per dtype and distribution; tier quick checks each on one dtype.
    by_dtype = {case.dtype: case for case in suite.timed}.values()
    timed = [case.model_copy(update={"distribution": kind}) for case in by_dtype for kind in task.distributions]
    if tier == "quick":
        timed = timed[: len(task.distributions)]
    metrics = (1.234e-05, 1.234e-05, 1.234e-05)
    results = [
        make_result(**case.model_dump(), output=next(iter(task.outputs)), errors=metrics, limits=metrics)
        for case in (*suite.checked, *timed)
    ]
    names = ["candidate", "eager"] if tier == "quick" else ["candidate", "eager", "compile", *task.baselines, "control"]
    samples = {name: encode_samples(range(10**6, 10**6 + plan.max_rounds)) for name in names}
    first_us = dict.fromkeys(names, 1234567.891)
    session = Session(samples=samples, foreign_load=0.012, stop="precision", first_call_us=first_us)
    sessions = (session,) * (plan.sessions + plan.more_sessions)
    timings = [Timing(axes=case.axes, dtype=case.dtype, sessions=sessions, floor_us=12.345) for case in suite.timed]
    return make_record(tier=tier, cases=tuple(results), timings=tuple(timings))

"""Lines of stores that anybody may have written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from specimens import make_record

from robust_kbench import store
from robust_kbench.errors import SpecError, UsageError
from robust_kbench.leaderboard.reading import TORN, Place, Problem, lines, parse_line, read_line, stores
from robust_kbench.schema.record import MAX_RECORD_BYTES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.jsonl"


def told(*paths: Path) -> tuple[list[tuple[Place, bytes]], list[Problem]]:
    problems: list[Problem] = []
    return list(lines(paths, problems)), problems


def test_lines_come_with_their_places_at_which_they_can_be_read_again(path: Path) -> None:
    path.write_bytes(b"first\n\nthird \xff\n")
    found, problems = told(path)
    assert [(place.number, place.offset, line) for place, line in found] == [
        (1, 0, b"first"),
        (2, 6, b""),
        (3, 7, b"third \xff"),
    ]
    assert [read_line(place) for place, _ in found] == [line for _, line in found]
    assert problems == []
    assert found[2][0].where == f"{path}:3"


def test_a_record_is_read_from_its_line(path: Path) -> None:
    store.append(path, make_record(author="first"))
    store.append(path, make_record(author="second"))
    found, _ = told(path)
    assert [parse_line(line, place.where).author for place, line in found] == ["first", "second"]


@pytest.mark.parametrize("tail", [b"x", b"{", b"x" * MAX_RECORD_BYTES], ids=["a byte", "a brace", "as long as allowed"])
def test_a_last_line_without_an_end_is_told(tail: bytes, path: Path) -> None:
    path.write_bytes(b"whole\n" + tail)
    found, problems = told(path)
    assert [line for _, line in found] == [b"whole"]
    assert problems == [Problem(f"{path}:2", TORN)]


@pytest.mark.parametrize("length", [MAX_RECORD_BYTES, MAX_RECORD_BYTES + 1, 3 * MAX_RECORD_BYTES + 17])
@pytest.mark.parametrize("end", [b"\n", b""], ids=["ended", "torn"])
def test_a_line_that_is_too_long_is_told_and_costs_no_other(length: int, end: bytes, path: Path) -> None:
    rest = b"next\n" if end else b""
    path.write_bytes(b"before\n" + b"x" * length + end + rest)
    found, (problem,) = told(path)
    assert [line for _, line in found] == [b"before", *([b"next"] if end else [])]
    assert [read_line(place) for place, _ in found] == [line for _, line in found]
    assert problem.where == f"{path}:2"
    assert problem.what == TORN or "a record has at most 262,144" in problem.what


def test_the_longest_line_that_is_allowed_is_one(path: Path) -> None:
    path.write_bytes(b"x" * (MAX_RECORD_BYTES - 1) + b"\n")
    found, problems = told(path)
    assert (len(found), problems) == (1, [])


def test_a_file_that_cannot_be_read_is_told_and_costs_no_other(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"line\n")
    os.mkfifo(tmp_path / "pipe.jsonl")
    found, problems = told(tmp_path / "none.jsonl", tmp_path / "pipe.jsonl", tmp_path, path)
    assert [line for _, line in found] == [b"line"]
    assert [problem.what for problem in problems] == [
        "No such file or directory",
        "not a regular file",
        "not a regular file",
    ]


def test_problems_may_be_nobodys_business(path: Path) -> None:
    path.write_bytes(b"line\ntorn")
    assert [line for _, line in lines([path])] == [b"line"]


def test_a_line_that_is_gone_is_an_error(path: Path) -> None:
    path.write_bytes(b"first\nsecond\n")
    found, _ = told(path)
    path.write_bytes(b"first\n")
    with pytest.raises(SpecError, match=":2: the file has become shorter meanwhile"):
        read_line(found[1][0])
    path.unlink()
    with pytest.raises(SpecError, match=":2: No such file or directory"):
        read_line(found[1][0])


def test_a_problem_is_one_line_that_steers_nothing() -> None:
    problem = Problem.at("a\x1b[2J:1", SpecError("a\x1b[2J:1: status: got '\x1b]0;mine\x07\u202e'" + "x" * 1000))
    assert problem.where.isprintable()
    assert problem.what.isprintable()
    assert problem.what.startswith("status: got")
    assert len(problem.what) == 300


def test_stores_are_named_or_found_below_folders_each_once(tmp_path: Path) -> None:
    names = ["b/deep/c.jsonl", "a.jsonl", "b/confirmations.jsonl", "b/journal.jsonl", "b/.final.jsonl", "b/notes.txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "d.jsonl").symlink_to(tmp_path / "a.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    expected = [tmp_path / "a.jsonl", tmp_path / "b/deep/c.jsonl"]
    assert stores([tmp_path]) == expected
    assert stores([tmp_path / "a.jsonl", tmp_path]) == expected
    assert stores([tmp_path / "b/notes.txt"]) == [tmp_path / "b/notes.txt"]


def test_no_store_at_all_is_a_wrong_request(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no store"):
        stores([tmp_path])
    with pytest.raises(UsageError, match="none.jsonl: No such file or directory"):
        stores([tmp_path / "none.jsonl"])

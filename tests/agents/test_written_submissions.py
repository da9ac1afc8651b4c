"""Written submissions are read back unchanged, by a reader that takes nothing on trust."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robust_kbench.agents import submissions
from robust_kbench.folders import data_folder
from robust_kbench.registry import read_submission, submission_folders
from robust_kbench.schema.documents import read_yaml

TRAPS = (
    "1e-6",
    "yes",
    "n",
    "null",
    "~",
    "012",
    "1:30",
    "2026-01-01",
    " a",
    "a ",
    "a: b",
    "- a",
    "#",
    "",
    "\r\n",
    "&a *a",
)


@given(st.text(max_size=300))
@example("one word and another " * 20)
@example("one  word   and\nanother " * 20)
def test_any_text_is_read_as_it_was_written(text: str) -> None:
    data = {"a": text, "b": [text, text], "c": {"d": text}}
    assert read_yaml(submissions.to_yaml(data), "here") == data


@pytest.mark.parametrize("text", TRAPS)
def test_so_is_what_yaml_takes_for_something_else(text: str) -> None:
    assert read_yaml(submissions.to_yaml({"a": text}), "here") == {"a": text}


@given(
    st.recursive(st.none() | st.booleans() | st.integers(-(10**17), 10**18) | st.floats(0, 1), st.lists, max_leaves=20)
)
def test_so_are_numbers_and_lists(value: object) -> None:
    assert read_yaml(submissions.to_yaml({"a": value}), "here") == {"a": value}


def test_values_that_are_one_object_are_written_out_each() -> None:
    same = [1]
    assert read_yaml(submissions.to_yaml({"a": same, "b": same}), "here") == {"a": [1], "b": [1]}


def test_half_of_a_character_is_replaced() -> None:
    assert read_yaml(submissions.to_yaml({"a": "x\ud83d"}), "here") == {"a": "x?"}


FOLDERS = submission_folders(data_folder("baselines"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: "-".join(folder.parts[-3:]))
def test_every_published_kernel_survives_being_written(folder: Path, tmp_path: Path) -> None:
    found = read_submission(folder)
    submissions.write(found, tmp_path / folder.name)
    assert read_submission(tmp_path / folder.name) == found


def test_nothing_of_what_was_there_is_left(tmp_path: Path) -> None:
    first, second = read_submission(FOLDERS[0]), read_submission(FOLDERS[-1])
    submissions.write(first.model_copy(update={"sources": {**first.sources, "old/more.h": ""}}), tmp_path / "best")
    submissions.write(second, tmp_path / "best")
    assert read_submission(tmp_path / "best").sources == second.sources
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_a_writer_that_was_killed_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".best.new").mkdir()
    (tmp_path / ".best.new" / "half.cpp").write_text("half")
    submissions.write(read_submission(FOLDERS[0]), tmp_path / "best")
    assert "half.cpp" not in read_submission(tmp_path / "best").sources

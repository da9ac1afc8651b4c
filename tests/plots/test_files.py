"""Pictures on disk."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_picture import HARD
from timed import NASTY, SPREAD, timed

from robust_kbench.errors import UsageError
from robust_kbench.plots.files import write
from robust_kbench.plots.panels import case_key
from robust_kbench.plots.picture import svg
from robust_kbench.plots.terminal import text


def test_a_timed_record_becomes_two_files(tmp_path: Path) -> None:
    record, floors = timed(SPREAD, submission="My.Kernel-2"), {case_key({"rows": 64}, "float32"): 40.0}
    picture, page = write(record, tmp_path / "new" / "plots", floors)
    assert picture.parent == page.parent == tmp_path / "new" / "plots"
    assert re.fullmatch(r"norm_scale-my_kernel-2-[0-9a-f]{8}\.svg", picture.name)
    assert page.name == picture.with_suffix(".txt").name
    assert picture.read_text() == svg(record, floors)
    assert page.read_text() == text(record, floors_us=floors)


def test_a_record_that_was_not_timed_leaves_nothing(tmp_path: Path) -> None:
    assert write(timed(), tmp_path / "plots") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "", "a\0b", NASTY, "x" * 5000, "Ä" * 5000])
def test_no_name_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "plots"
    written = write(timed(SPREAD, submission=name, task=name, submission_digest=name), folder)
    assert sorted(written) == sorted(folder.iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["plots"]
    for path in written:
        assert re.fullmatch(r"[a-z0-9_-]+-[a-z0-9_-]+-[0-9a-f]{8}\.(svg|txt)", path.name)


def test_two_evaluations_of_one_submission_have_files_of_their_own(tmp_path: Path) -> None:
    write(timed(SPREAD), tmp_path)
    write(timed(SPREAD, seed=8), tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    first = {path: path.read_bytes() for path in write(HARD, tmp_path)}
    assert {path: path.read_bytes() for path in write(HARD, tmp_path)} == first
    assert sorted(tmp_path.iterdir()) == sorted(first)


def test_a_link_in_the_folder_is_replaced_and_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (picture, _) = write(timed(SPREAD), tmp_path / "plots")
    picture.unlink()
    picture.symlink_to(precious)
    write(timed(SPREAD), tmp_path / "plots")
    assert precious.read_text() == "mine"
    assert not picture.is_symlink()


def test_a_reader_of_the_old_file_keeps_all_of_it(tmp_path: Path) -> None:
    (picture, _) = write(timed(SPREAD), tmp_path)
    with picture.open() as old:
        write(timed(SPREAD), tmp_path, {case_key({"rows": 64}, "float32"): 40.0})
        assert old.read() == svg(timed(SPREAD))
    assert picture.read_text() != svg(timed(SPREAD))


def test_a_folder_that_is_a_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "plots").write_text("")
    with pytest.raises(UsageError, match=r"plots: .*; name a folder that can be written"):
        write(timed(SPREAD), tmp_path / "plots")

"""Places that cannot be written to are told before any work."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from robust_kbench import cli
from robust_kbench.cli import app
from robust_kbench.cli.places import check_file, check_folder
from robust_kbench.errors import UsageError
from robust_kbench.folders import data_folder

NOWHERE = "/proc/nowhere/it"  # nobody can make anything there, root included
STORE = str(Path(__file__).parents[2] / "leaderboard" / "cpu" / "results.jsonl")
KERNEL = str(data_folder("baselines") / "norm" / "rmsnorm" / "cpp_simd")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["evaluate", KERNEL, "--store"], "--store"),
        (["evaluate", KERNEL, "--plot"], "--plot"),
        (["redteam", "plain", "--csv"], "--csv"),
        (["leaderboard", "store.jsonl", "--out"], "--out"),
        (["leaderboard", "merge", "store.jsonl", "--into"], "--into"),
        (["import", "kernelbench", "somewhere", "--into"], "--into"),
        (["sweep", "file.yaml", "--out"], "--out"),
        (["keygen", "--out"], "--out"),
        (["verify", STORE, "--into"], "--into"),
        (["new", "norm/rmsnorm"], "FOLDER"),
    ],
    ids=" ".join,
)
def test_each_command_tells_of_a_place_that_cannot_be_written_before_any_work(words: list[str], name: str) -> None:
    found = CliRunner().invoke(app, [*words, NOWHERE])
    assert isinstance(found.exception, UsageError), (found.output, found.exception)
    assert re.fullmatch(
        rf"{name} {NOWHERE}: cannot be written: [^;\n]+; name another place", str(found.exception), re.IGNORECASE
    )
    assert not found.stdout


@pytest.mark.parametrize("deep", ["it", "a/b/it"])
def test_a_place_that_can_be_made_is_none_and_nothing_is_made(tmp_path: Path, deep: str) -> None:
    check_file(tmp_path / deep, "--store")
    check_folder(tmp_path / deep, "--out")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("kept")
    check_file(tmp_path / "store", "--store")
    assert (tmp_path / "store").read_text() == "kept"


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(UsageError, match="is a folder; name a file"):
        check_file(tmp_path, "--store")
    with pytest.raises(UsageError, match="cannot be written: Not a directory"):
        check_folder(tmp_path / "store" / "below", "--out")


@pytest.mark.parametrize("check", [check_file, check_folder])
@pytest.mark.parametrize(
    "place", ["x" * 300, "x" * 300 + "/it", "itself", "nowhere", "missing/" + "../" * 20 + "proc/it"]
)
def test_an_odd_place_that_cannot_be_written_is_refused_in_words(tmp_path: Path, place: str, check: Any) -> None:
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    (tmp_path / "nowhere").symlink_to(NOWHERE)
    with pytest.raises(UsageError, match="cannot be written: .+; name another place"):
        check(tmp_path / place, "--store")


def test_a_link_to_what_is_not_there_yet_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "later")
    check_file(tmp_path / "link", "--store")
    assert not (tmp_path / "later").exists()


def test_a_pipe_without_a_reader_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="cannot be written"):
        check_file(tmp_path / "pipe", "--store")


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="Permission denied"):
        check_file(tmp_path / "store", "--store")


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, 3), (errno.EROFS, 3)])
def test_a_disk_that_is_full_ends_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, code: int
) -> None:
    def full() -> None:
        raise OSError(number, os.strerror(number), "/tmp/kbench/it")

    monkeypatch.setattr(cli, "app", full)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    said = capsys.readouterr().err
    assert said == f"error: /tmp/kbench/it: {os.strerror(number)}; make room, or set TMPDIR elsewhere\n"


def test_other_errors_of_ours_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError(errno.EBADF, "bad")

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(OSError, match="bad"):
        cli.main()

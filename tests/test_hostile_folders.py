"""Folders that hostile code has left: a file is read, and nothing else is followed or waited for."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from specimens import nest

from robust_kbench.emulator.survey import sandbox as survey
from robust_kbench.emulator.survey.extension import Libraries
from robust_kbench.emulator.survey.sources import Found
from robust_kbench.errors import SpecError
from robust_kbench.hostile_folders import discard, holds_more, open_left
from robust_kbench.importers import sandbox as importing
from robust_kbench.importers.description import Request
from robust_kbench.importers.foreign_files import read_source


@pytest.mark.parametrize("mode", [0o300, 0o000, 0o500])
def test_a_folder_that_cannot_be_listed_or_emptied_is_deleted(tmp_path: Path, mode: int) -> None:
    """The folder is deleted without root's rights, as root may do everything."""
    left = tmp_path / "left"
    (left / "kept").mkdir(parents=True)
    (left / "kept" / "much").write_bytes(b"x" * 1000)
    (tmp_path / "secret").mkdir()
    (left / "link").symlink_to(tmp_path / "secret")
    (left / "kept").chmod(mode)
    told = "import sys; from pathlib import Path; from robust_kbench.hostile_folders import discard"
    command = [sys.executable, "-c", f"{told}; discard(Path(sys.argv[1]))", str(left)]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv is not here")
        rights = "-dac_override,-dac_read_search"
        command = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}", *command]
    subprocess.run(command, check=True)
    assert not left.exists()
    assert (tmp_path / "secret").is_dir()


def test_deep_folders_are_deleted_with_few_descriptors(tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.mkdir()
    nest(left, 1500)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
    try:
        discard(left)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert not left.exists()


def test_files_and_folders_are_counted_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").touch()
    (tmp_path / "a/link").symlink_to(tmp_path)
    assert holds_more(tmp_path, 3)
    assert not holds_more(tmp_path, 4)
    assert not holds_more(tmp_path / "gone", 0)


def test_what_cannot_be_looked_through_may_hold_any_number(tmp_path: Path) -> None:
    nest(tmp_path, 3000)  # longer than a path can be
    try:
        assert holds_more(tmp_path, 10_000)
    finally:
        discard(tmp_path / "d")


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "result").write_text("42")
    with open_left(tmp_path / "result") as file:
        assert file.read() == b"42"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "none"])
def test_nothing_else_is_opened_and_nobody_waits(tmp_path: Path, kind: str) -> None:
    place, before = tmp_path / "result", len(os.listdir("/proc/self/fd"))
    if kind == "link":
        (tmp_path / "secret").write_text("only the judge may read this")
        place.symlink_to(tmp_path / "secret")
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    with pytest.raises(OSError, match=r"result|Too many levels"):
        open_left(place)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_foreign_problem_cannot_have_another_file_be_taken_for_its_result_or_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"error": "only the judge may read this"}')

    def execute(folder: Path, seconds: int, stop: Any, log: Any) -> int:
        log.write(b"its own words\n")
        for name in ("result.json", "log"):
            (folder / name).symlink_to(secret)
        return 1

    monkeypatch.setattr(importing, "_execute", execute)
    request: Any = Request.model_construct()
    told = importing.ask(request, seconds=9, stop=Event())
    assert told.error == "ended with exit code 1: its own words"


def test_nor_can_a_kernel_in_a_survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"built": "only the judge may read this"}')

    def execute(folder: Path, settings: Any, readable: Any, log: Any) -> int:
        log.write(b"its own words\n")
        for name in ("result.json", "output.log"):
            (folder / name).symlink_to(secret)
        return 1

    monkeypatch.setattr(survey, "_execute", execute)
    found = Found(path=tmp_path / "kernel.cu", kind="model")
    libraries = Libraries(tmp_path / "a.so", tmp_path / "b.so")
    told = survey.run(found, survey.Settings(seconds=9, memory_bytes=1), libraries)
    assert told["built"] is None
    assert told["reason"] == "ended with exit code 1: its own words\n"


def test_a_foreign_problem_that_nests_folders_ends_nothing_but_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own way of deleting nested folders recurses."""
    made = list[Path]()

    def execute(folder: Path, *_: Any) -> int:
        made.append(folder)
        nest(folder, 1500)
        return 1

    monkeypatch.setattr(importing, "_execute", execute)
    request: Any = Request.model_construct()
    assert importing.ask(request, seconds=9, stop=Event()).error.startswith("ended with exit code 1")
    monkeypatch.setattr(survey, "_execute", execute)
    libraries = Libraries(Path("a.so"), Path("b.so"))
    assert not survey.run(Found(Path("k.cu"), "model"), survey.Settings(seconds=9, memory_bytes=1), libraries)["ran"]
    assert not any(folder.exists() for folder in made)
    assert len(made) == 2


def test_a_link_among_foreign_files_is_not_followed(tmp_path: Path) -> None:
    """The file that it leads to would be written into a submission that is published."""
    (tmp_path / "secret").write_text("only this user may read this")
    (tmp_path / "kernel.cu").symlink_to(tmp_path / "secret")
    with pytest.raises(SpecError, match="a link, which is not followed"):
        read_source(tmp_path / "kernel.cu")
    assert read_source(tmp_path / "secret").startswith("only")

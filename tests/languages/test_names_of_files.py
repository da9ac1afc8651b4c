"""Names of files that reach a compiler, and with it a shell; and what a build has left in the place of its artefact."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from robust_kbench.contestant import _copied
from robust_kbench.errors import WorkerCrashed
from robust_kbench.schema.submission import Submission, SubmissionFile


def made(name: str, language: Any) -> Submission:
    file = SubmissionFile(task="norm/rmsnorm", language=language, entry_point="kernel.cu::rmsnorm")
    return Submission(name="x", file=file, sources={"kernel.cu": "", name: ""})


@pytest.mark.parametrize("language", ["cuda", "cpp"])
@pytest.mark.parametrize(
    "name",
    [
        "k$(touch${IFS}x).cu",
        "k`id`.cu",
        "a;b.h",
        "a b.h",
        "a|b",
        "a&b",
        "a'b",
        'a"b',
        "a\\b",
        "d$x/a.h",
        "-o.h",
        "a>b",
        "~",
    ],
)
def test_a_name_that_a_shell_takes_for_more_is_refused_where_files_are_compiled(name: str, language: str) -> None:
    with pytest.raises(ValidationError, match="use letters, digits"):
        made(name, language)


@pytest.mark.parametrize("name", ["kernel_2.cuh", "include/a-b.h", "größe.h", ".clang-format", "c++.h"])
def test_ordinary_names_are_compiled(name: str) -> None:
    assert name in made(name, "cuda").sources


def test_what_no_compiler_sees_may_have_other_names() -> None:
    assert "kernel (1).py" in made("kernel (1).py", "python").sources


def test_an_artefact_is_copied(tmp_path: Path) -> None:
    artefact = tmp_path / "kernel.so"
    artefact.write_bytes(b"code")
    copy = _copied(artefact, tmp_path / "scratch")
    assert copy.read_bytes() == b"code"
    assert copy.parent == tmp_path / "scratch"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "none"])
def test_nothing_but_a_file_of_the_build_itself_is_handed_to_a_worker(tmp_path: Path, kind: str) -> None:
    secret, artefact = tmp_path / "secret", tmp_path / "kernel.so"
    secret.write_text("only the judge may read this")
    if kind == "link":
        artefact.symlink_to(secret)
    elif kind == "pipe":
        os.mkfifo(artefact)
    elif kind == "folder":
        artefact.mkdir()
    with pytest.raises(WorkerCrashed, match="cannot be loaded"):
        _copied(artefact, tmp_path / "scratch")
    assert list((tmp_path / "scratch").iterdir()) == []

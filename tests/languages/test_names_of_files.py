"""Names of files that reach a compiler, and with it a shell; and what a build has left in the place of its artefact."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from robust_kbench.cli.collect import collect
from robust_kbench.contestant import _copied
from robust_kbench.errors import WorkerCrashed
from robust_kbench.schema.submission import Submission, SubmissionFile


def made(name: str, language: Any, entry: str = "") -> Submission:
    file = SubmissionFile(task="norm/rmsnorm", language=language, entry_point=f"{entry or name}::rmsnorm")
    return Submission(name="x", file=file, sources={"kernel.cu": "", name: ""})


@pytest.mark.parametrize("language", ["cuda", "cpp"])
@pytest.mark.parametrize(
    "name",
    [
        "k$(touch${IFS}x).cu",
        "k`id`.cu",
        "a;b.h",
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


@pytest.mark.parametrize("name", ["kernel_2.cu", "include/a-b.cpp", "größe.cc", ".clang/a.cu", "c++.cxx"])
def test_ordinary_names_are_compiled(name: str) -> None:
    assert name in made(name, "cuda").sources


def test_what_no_compiler_sees_by_its_name_may_have_other_ones() -> None:
    """Notes, and what an editor has left."""
    assert "kernel(1).py" in made("kernel(1).py", "python").sources
    for name in ("My notes.md", "kernel.cu~"):
        assert name in made(name, "cuda", "kernel.cu").sources


def test_a_bad_name_costs_no_other_submission_its_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, name in (("bad", "k$(id).cu"), ("good", "k.cu"), ("long", "k.cu")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("")
        header = f"task: norm/rmsnorm\nlanguage: cuda\nentry_point: '{name}::rmsnorm'\n"
        (tmp_path / folder / "submission.yaml").write_text(header)
    (tmp_path / "long" / ("a" * 200)).write_text("")
    (tmp_path / "k(1).cu").write_text("")
    jobs, code = collect([tmp_path, tmp_path / "k(1).cu"], "norm/rmsnorm")
    assert ([job.submission.name for job in jobs], code) == (["good"], 2)
    told = capsys.readouterr().err
    assert told.count("use letters, digits") == 2
    assert "no usable name" in told


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

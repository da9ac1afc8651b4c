"""Workers load files of their own, regardless of the names of a submission's folders."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robust_kbench import contestant
from robust_kbench.contestant import Contestant
from robust_kbench.devices import open_device
from robust_kbench.languages.built import Built
from robust_kbench.registry import load_task
from robust_kbench.schema.submission import Submission, SubmissionFile

TASK = load_task("norm/rmsnorm").spec
SOURCES = {"python": "def rmsnorm(x, weight): ...\n", "triton": "def rmsnorm(x, weight): ...\n"}


def submission(language: str, entry: str, text: str, **more: str) -> Submission:
    abi = "c" if language in ("cpp", "cuda") else "value"
    file = SubmissionFile.model_validate(
        {"task": "norm/rmsnorm", "language": language, "abi": abi, "entry_point": f"{entry}::rmsnorm"}
    )
    return Submission(name="test", file=file, sources={entry: text, **more})


def build(made: Submission, folder: Path) -> Contestant:
    return contestant.build("candidate", made, TASK, ["float32"], open_device("cpu"), folder)


def test_what_lies_above_the_folder_of_a_build_is_not_read_when_it_is_called_source() -> None:
    folder = Path("/home/somebody/source/temporary/build")
    assert Built(folder / "kernel.so", "rmsnorm", "c").folders == (folder,)


@pytest.mark.parametrize("language", ["python", "triton"])
@pytest.mark.parametrize("entry", ["kernel.py", "source/kernel.py", "mine/source/kernel.py"])
def test_all_of_a_submission_lies_in_the_folder_of_each_worker(language: str, entry: str, tmp_path: Path) -> None:
    made = build(submission(language, entry, SOURCES[language], **{"source/more.py": "X = 1\n"}), tmp_path / "build")
    artefact = made.built["float32"]
    entries = [made._private(artefact, tmp_path / worker) for worker in ("one", "two")]
    assert [str(path.relative_to(tmp_path)) for path in entries] == [f"{worker}/{entry}" for worker in ("one", "two")]
    assert [path.read_text() for path in entries] == [SOURCES[language]] * 2
    assert all((tmp_path / worker / "source" / "more.py").read_text() == "X = 1\n" for worker in ("one", "two"))
    assert entries[0].stat().st_ino != entries[1].stat().st_ino


@pytest.mark.parametrize("language", ["python", "triton", "cpp"])
def test_no_worker_may_read_the_folder_that_all_have_in_common(language: str, tmp_path: Path) -> None:
    """The time of a file's latest access would reveal the reads of an earlier worker."""
    if language == "cpp":
        text = 'using T = const KBENCH_T*;\nextern "C" void rmsnorm(T, T, KBENCH_T*, long, long) {}\n'
        made = build(submission("cpp", "kernel.cpp", text), tmp_path)
    else:
        made = build(submission(language, "kernel.py", SOURCES[language]), tmp_path)
    allowances = list[Any]()
    pool: Any = SimpleNamespace(start=lambda flavour, arena, allowance: allowances.append(allowance))
    arena: Any = None
    made.open(pool, arena, open_device("cpu"), ["float32"])
    (allowance,) = allowances
    assert allowance.readable == ()


def test_an_emulated_kernel_is_copied_and_may_read_the_emulator(tmp_path: Path) -> None:
    library = tmp_path / "build" / "kernel.so"
    library.parent.mkdir()
    library.write_bytes(b"code")
    artefact = Built(library, "rmsnorm", "c", execution="emulated", needs=(tmp_path / "emulator",))
    made = Contestant("candidate", submission("cuda", "kernel.cu", ""), {"float32": artefact})
    copy = made._private(artefact, tmp_path / "worker")
    assert (copy.parent, copy.read_bytes()) == (tmp_path / "worker", b"code")

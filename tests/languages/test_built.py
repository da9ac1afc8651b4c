"""Which folder a worker may read to load an artefact, whatever folders are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from robust_kbench.languages import python, triton
from robust_kbench.languages.built import Built
from robust_kbench.registry import load_task
from robust_kbench.schema.submission import Submission, SubmissionFile

TASK = load_task("norm/rmsnorm").spec


def submission(language: str, entry: str) -> Submission:
    file = SubmissionFile.model_validate(
        {"task": "norm/rmsnorm", "language": language, "abi": "value", "entry_point": f"{entry}::rmsnorm"}
    )
    return Submission(name="test", file=file, sources={entry: "def rmsnorm(x, weight): ...\n"})


def test_what_lies_above_the_folder_of_a_build_is_not_read_when_it_is_called_source() -> None:
    folder = Path("/home/somebody/source/temporary/build")
    assert Built(folder / "kernel.so", "rmsnorm", "c").folders == (folder,)


@pytest.mark.parametrize("builder", [python, triton])
@pytest.mark.parametrize("entry", ["kernel.py", "source/kernel.py", "mine/source/kernel.py"])
def test_all_of_a_submission_can_be_read_when_a_folder_of_its_own_is_called_source(
    builder: object, entry: str, tmp_path: Path
) -> None:
    made = submission("python" if builder is python else "triton", entry)
    built = builder.build(made, TASK, "float32", "cpu", tmp_path)  # type: ignore[attr-defined]
    assert built.folders == (tmp_path,)

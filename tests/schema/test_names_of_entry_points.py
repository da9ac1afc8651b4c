"""An entry point with the linkage of C cannot have the name of a function that C or CUDA has."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from robust_kbench.agents import starts
from robust_kbench.cli.contract import _entry_points
from robust_kbench.registry import find_submissions, load_task, read_submission
from robust_kbench.scaffold import scaffold
from robust_kbench.schema.submission import SubmissionFile, usual_symbol

SUFFIX = {"python": "py", "cpp": "cpp", "cuda": "cu"}


@pytest.mark.parametrize(
    ("language", "symbol"),
    [
        ("cuda", "max"),
        ("cuda", "normf"),
        *((each, name) for each in ("cpp", "cuda") for name in ("tanh", "expf", "main")),
    ],
)
def test_a_function_of_c_is_refused_before_a_compiler_sees_it(language: str, symbol: str) -> None:
    header = {"task": "reduction/max", "language": language, "entry_point": f"kernel.{SUFFIX[language]}::{symbol}"}
    with pytest.raises(ValidationError, match=f"rename it to {symbol}_kernel"):
        SubmissionFile.model_validate(header)


@pytest.mark.parametrize(
    ("language", "abi", "symbol"),
    [("python", "value", "max"), ("cuda", "torch", "max"), ("cpp", "c", "softmax"), ("cpp", "c", "max")],
)
def test_other_names_and_other_ways_to_be_called_are_free(language: str, abi: str, symbol: str) -> None:
    SubmissionFile.model_validate(
        {
            "task": "reduction/max",
            "language": language,
            "abi": abi,
            "entry_point": f"kernel.{SUFFIX[language]}::{symbol}",
        }
    )


def test_a_task_that_is_called_as_a_function_of_c_gets_another_name_where_it_is_compiled() -> None:
    assert usual_symbol("reduction/max", "cuda") == "max_kernel"
    assert usual_symbol("activation/tanh", "cpp") == "tanh_kernel"
    assert usual_symbol("reduction/max", "triton") == "max"
    assert usual_symbol("norm/rmsnorm", "cuda") == "rmsnorm"


def test_what_is_written_for_such_a_task_can_be_compiled(tmp_path: Path) -> None:
    task = load_task("reduction/max")
    assert starts.form_of(task, "cuda").symbol == "max_kernel"
    assert any('extern "C" void max_kernel(' in line for line in _entry_points(task.spec))
    scaffold(task, "cuda", tmp_path / "mine")
    assert read_submission(tmp_path / "mine").symbol not in ("max", "tanh")
    kernel = tmp_path / "kernel.cu"
    kernel.write_text("")
    (found,) = find_submissions(kernel, "reduction/max")
    assert found.symbol == "max_kernel"

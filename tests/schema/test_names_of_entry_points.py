"""Nothing with the linkage of C can have a name that C, C++ or CUDA has: neither entry points nor launched kernels."""

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


def launch_of(kernel: str) -> dict[str, object]:
    return {"kernel": kernel, "grid": (1,), "block": (32,), "arguments": ("x", "y")}


def launching(launches: list[dict[str, object]]) -> dict[str, object]:
    header = {"task": "reduction/max", "language": "cuda", "abi": "launch", "entry_point": "kernel.cu::rows"}
    return {**header, "launches": tuple(launches)}


@pytest.mark.parametrize(
    ("language", "symbol"),
    [
        ("cuda", "max"),
        ("cuda", "normf"),
        ("cuda", "float4"),
        *((each, name) for each in ("cpp", "cuda") for name in ("tanh", "expf", "main", "double", "random", "int64_t")),
    ],
)
def test_a_function_of_c_is_refused_before_a_compiler_sees_it(language: str, symbol: str) -> None:
    header = {"task": "reduction/max", "language": language, "entry_point": f"kernel.{SUFFIX[language]}::{symbol}"}
    with pytest.raises(ValidationError, match=f"rename it to {symbol}_kernel"):
        SubmissionFile.model_validate(header)


@pytest.mark.parametrize("name", ["max", "rsqrt", "expf", "fadd", "remove", "double", "float4", "threadIdx", "half"])
def test_a_kernel_that_is_launched_has_a_name_of_its_own(name: str) -> None:
    plan = [launch_of("scale_rows"), launch_of(name)]
    with pytest.raises(ValidationError, match=rf"launches\.1\.kernel: '{name}' .* rename it to {name}_kernel"):
        SubmissionFile.model_validate(launching(plan))
    SubmissionFile.model_validate(launching([launch_of(f"{name}_kernel")]))


def test_the_entry_point_of_a_plan_is_no_function() -> None:
    SubmissionFile.model_validate({**launching([launch_of("largest")]), "entry_point": "kernel.cu::max"})


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

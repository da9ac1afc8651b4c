"""Backward references against automatic differentiation, each gradient by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rotation import rotating
from written_task import write_task

from robust_kbench.audit.gradients import wrong_gradients
from robust_kbench.registry import LoadedTask, load_task, task_names
from robust_kbench.schema.case import Case

CASES = [Case(axes={"rows": 5, "cols": 7}, dtype="float32", seed=seed) for seed in (1, 2)]
BACKWARD: dict[str, Any] = {
    "name": "norm/scale_backward",
    "forward": "norm/scale",
    "inputs": {
        "grad_y": {"shape": ["rows", "cols"], "role": "gradient"},
        "x": {"shape": ["rows", "cols"]},
        "weight": {"shape": ["cols"], "role": "parameter", "shift": 1.0},
    },
    "outputs": {"grad_x": {"shape": ["rows", "cols"]}, "grad_weight": {"shape": ["cols"]}},
}


def backward(folder: Path, result: str, **changes: Any) -> LoadedTask:
    write_task(folder)
    source = f"def reference(grad_y, x, weight):\n    return {result}\n"
    return write_task(folder, source, None, **{**BACKWARD, **changes})


def test_right_gradients_are_accepted(tmp_path: Path) -> None:
    assert list(wrong_gradients(backward(tmp_path, "grad_y * weight, (grad_y * x).sum(0)"), CASES)) == []


@pytest.mark.parametrize(
    ("result", "name"),
    [("grad_y * weight, (grad_y * x).mean(0)", "grad_weight"), ("grad_y, (grad_y * x).sum(0)", "grad_x")],
)
def test_each_wrong_gradient_is_named(tmp_path: Path, result: str, name: str) -> None:
    found = list(wrong_gradients(backward(tmp_path, result), CASES))
    assert found
    assert all(f"{name} differs from automatic differentiation of norm/scale by " in line for line in found)


def test_a_gradient_that_is_right_for_a_cotangent_of_ones_alone_is_wrong(tmp_path: Path) -> None:
    found = list(wrong_gradients(backward(tmp_path, "weight + 0 * grad_y, x.sum(0)"), CASES))
    assert {line.partition("cotangent ")[2].partition(",")[0] for line in found} == {"normal", "one_hot", "lognormal"}


def test_a_backward_op_may_take_the_output_in_place_of_the_input(tmp_path: Path) -> None:
    write_task(tmp_path, "def reference(x, weight):\n    return (x * weight).exp()\n")
    inputs = {
        "grad_y": {"shape": ["rows", "cols"], "role": "gradient"},
        "y": {"shape": ["rows", "cols"]},
        "weight": {"shape": ["cols"], "role": "parameter", "shift": 1.0},
    }
    source = "def reference(grad_y, y, weight):\n    return grad_y * y * weight\n"
    outputs = {"grad_x": {"shape": ["rows", "cols"]}}
    task = write_task(tmp_path, source, None, **{**BACKWARD, "inputs": inputs, "outputs": outputs})
    assert list(wrong_gradients(task, CASES)) == []


def test_a_backward_op_names_its_forward_op(tmp_path: Path) -> None:
    task = backward(tmp_path, "grad_y * weight, (grad_y * x).sum(0)", forward=None)
    assert list(wrong_gradients(task, CASES)) == [
        "grad_y is a gradient, but the task names no `forward` to differentiate"
    ]


def test_its_tensors_are_named_after_those_of_the_forward_op(tmp_path: Path) -> None:
    outputs = {"gx": {"shape": ["rows", "cols"]}, "grad_weight": {"shape": ["cols"]}}
    (message,) = wrong_gradients(backward(tmp_path, "grad_y * weight, (grad_y * x).sum(0)", outputs=outputs), CASES)
    assert message == (
        "of norm/scale, expected inputs ['grad_y'] of role gradient and outputs among ['grad_weight', 'grad_x']"
    )


def test_a_forward_op_has_nothing_to_prove(tmp_path: Path) -> None:
    assert list(wrong_gradients(write_task(tmp_path), CASES)) == []


@pytest.mark.parametrize("name", rotating(name for name in task_names() if name.endswith("_backward")))
def test_the_registrys_gradients_are_right(name: str) -> None:
    from robust_kbench.audit.examine import SEED, audit_cases

    task = load_task(name)
    assert list(wrong_gradients(task, audit_cases(task, "float32", SEED))) == []

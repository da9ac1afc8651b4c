from __future__ import annotations

from typing import Any

import pytest
import torch
from rotation import rotating
from specimens import REFERENCE, load_made_task, make_case

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.sizes import draw_axes
from robust_kbench.cases.space import Space
from robust_kbench.cases.suite import INTERPRETED
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle.reference import Reference, full_precision, precision_facts
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import FloatDType, Task, shape_of

BACKENDS: Any = torch.backends
TWO = "def reference(x, weight):\n    return x * weight, x.sum(0)\n"


def _case(task: Task, dtype: FloatDType) -> Case:
    """Small sizes that the task admits."""
    axes = draw_axes(Space(task, INTERPRETED["full"], (dtype,), dense=False), Draw(3), dtype)
    return Case(axes=axes, dtype=dtype, seed=3)


def _inputs(dtype: FloatDType = "float16") -> Inputs:
    return make_inputs(load_made_task().spec, make_case(dtype=dtype))


@pytest.mark.parametrize("name", rotating(task_names()))
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_every_reference_stays_in_the_dtype_of_its_inputs_and_keeps_the_declared_shape(
    name: str, dtype: FloatDType
) -> None:
    task = load_task(name)
    case = _case(task.spec, dtype)
    inputs = make_inputs(task.spec, case)
    for outputs, variable in ((Reference(task).exact(inputs), "float64"), (Reference(task).native(inputs), dtype)):
        found = {key: (str(tensor.dtype), tuple(tensor.shape)) for key, tensor in outputs.items()}
        assert found == {
            key: (f"torch.{task.spec.dtype_of(spec, variable)}", shape_of(spec, case.axes))
            for key, spec in task.spec.outputs.items()
        }


@pytest.mark.parametrize("name", rotating(task_names()))
def test_no_reference_changes_its_inputs(name: str) -> None:
    task = load_task(name)
    inputs = make_inputs(task.spec, _case(task.spec, "float32"))
    before = inputs.digest
    Reference(task).native(inputs)
    assert inputs.digest == before


def test_the_exact_answer_starts_from_the_rounded_values_that_the_submission_got() -> None:
    inputs = _inputs()
    exact = Reference(load_made_task()).exact(inputs)["y"]
    assert torch.equal(exact, inputs.tensors["x"].double() * inputs.tensors["weight"].double())


def test_the_native_answer_is_computed_in_the_dtype_of_the_case() -> None:
    inputs = _inputs()
    native = Reference(load_made_task()).native(inputs)["y"]
    assert torch.equal(native, inputs.tensors["x"] * inputs.tensors["weight"])


def test_scalars_and_indices_reach_the_reference_as_they_are() -> None:
    spec = {
        "x": {"shape": ["rows", "cols"]},
        "index": {"shape": ["rows"], "dtype": "int64", "role": "index", "below": "cols"},
        "shift": {"role": "scalar", "dtype": "int64", "value": 3},
    }
    task = load_made_task("def reference(x, index, shift):\n    return x[:, index] + shift\n", inputs=spec)
    inputs = make_inputs(task.spec, make_case())
    expected = inputs.tensors["x"].double()[:, inputs.tensors["index"]] + 3
    assert torch.equal(Reference(task).exact(inputs)["y"], expected)


def test_a_tuple_is_spread_over_the_outputs_in_order() -> None:
    task = load_made_task(TWO, outputs={"y": {"shape": ["rows", "cols"]}, "total": {"shape": ["cols"]}})
    outputs = Reference(task).exact(_inputs())
    assert {name: tuple(tensor.shape) for name, tensor in outputs.items()} == {"y": (4, 8), "total": (8,)}


@pytest.mark.parametrize(
    ("source", "outputs", "message"),
    [
        (TWO, {"y": {}}, "norm/scale: reference returns 2 tensors, declared: 1"),
        (REFERENCE, {"y": {}, "z": {}}, "norm/scale: reference returns 1 tensors, declared: 2"),
    ],
    ids=["too many", "too few"],
)
def test_a_reference_that_returns_another_number_of_tensors_is_refused(
    source: str, outputs: dict[str, dict[str, str]], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        Reference(load_made_task(source, outputs=outputs)).exact(_inputs())


@pytest.mark.parametrize("source", ["", "reference = 3\n", "def other(x): ...\n"])
def test_a_file_without_a_reference_is_refused(source: str) -> None:
    with pytest.raises(SpecError, match="norm/scale/reference.py: defines no function `reference`"):
        Reference(load_made_task(source))


def test_no_gradient_is_recorded() -> None:
    inputs = _inputs("float32")
    inputs.tensors["x"].requires_grad_()
    assert not Reference(load_made_task()).native(inputs)["y"].requires_grad


def _precisions() -> tuple[object, ...]:
    matmul, cudnn, mkldnn = BACKENDS.cuda.matmul, BACKENDS.cudnn, BACKENDS.mkldnn
    float32 = (matmul.allow_tf32, cudnn.allow_tf32, torch.get_float32_matmul_precision())
    newer = (matmul.fp32_precision, cudnn.conv.fp32_precision, mkldnn.matmul.fp32_precision, mkldnn.conv.fp32_precision)
    half = (matmul.allow_fp16_reduced_precision_reduction, matmul.allow_bf16_reduced_precision_reduction)
    return (*float32, *newer, *map(bool, half), matmul.allow_fp16_accumulation)


PRECISE = (False, False, "highest", "ieee", "ieee", "ieee", "ieee", False, False, False)


@pytest.mark.parametrize("precision", ["highest", "high", "medium"])
def test_reduced_precision_is_off_inside_and_as_before_outside(precision: str) -> None:
    outside = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        before = _precisions()
        assert before != PRECISE
        with full_precision():
            assert _precisions() == PRECISE
        assert _precisions() == before
    finally:
        torch.set_float32_matmul_precision(outside)


def test_reduced_precision_is_off_inside_after_a_mix_of_older_and_newer_settings() -> None:
    conv, rnn = BACKENDS.cudnn.conv, BACKENDS.cudnn.rnn
    before = conv.fp32_precision
    conv.fp32_precision = "ieee"  # cudnn.allow_tf32 cannot be read now
    try:
        with full_precision():
            assert rnn.fp32_precision == "ieee"
        assert (conv.fp32_precision, rnn.fp32_precision) == ("ieee", "tf32")
    finally:
        conv.fp32_precision = before


def test_reduced_precision_is_as_before_after_a_reference_that_fails() -> None:
    before = _precisions()
    with pytest.raises(ZeroDivisionError), full_precision():
        raise ZeroDivisionError
    assert _precisions() == before


def test_a_record_says_in_which_arithmetic_the_references_ran() -> None:
    assert precision_facts() == {"reference_float32": "ieee", "reference_reduced_sums": "off"}

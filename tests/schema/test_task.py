from __future__ import annotations

import math
from typing import Any

import pytest
from specimens import TASK, make_task

from robust_kbench.errors import SpecError
from robust_kbench.schema.documents import parse
from robust_kbench.schema.task import Axis, Input, shape_of

X, WEIGHT = TASK["inputs"]["x"], TASK["inputs"]["weight"]


def _refusal(**changes: Any) -> str:
    with pytest.raises(SpecError) as caught:
        make_task(**changes)
    return str(caught.value).removeprefix("task.yaml: ")


def _input_refusal(**fields: Any) -> str:
    with pytest.raises(SpecError) as caught:
        parse(Input, fields, "task.yaml")
    return str(caught.value).removeprefix("task.yaml: ")


def _axis_refusal(**fields: Any) -> str:
    with pytest.raises(SpecError) as caught:
        parse(Axis, fields, "task.yaml")
    return str(caught.value).removeprefix("task.yaml: ")


@pytest.mark.parametrize(
    ("fields", "sizes"),
    [
        ({"values": [5, 1, 3]}, [5, 1, 3]),
        ({"low": 2, "high": 5}, [2, 3, 4, 5]),
        ({"low": 5, "high": 20, "multiple_of": 8}, [8, 16]),
        ({"low": 8, "high": 24, "multiple_of": 8}, [8, 16, 24]),
        ({"high": 3}, [1, 2, 3]),
        ({"low": 0, "high": 1}, [0, 1]),
    ],
)
def test_an_axis_takes_its_values_or_the_multiples_within_its_range(fields: dict[str, Any], sizes: list[int]) -> None:
    axis = parse(Axis, fields, "task.yaml")
    assert list(axis.sizes()) == sizes
    assert [size for size in range(30) if axis.admits(size)] == sorted(sizes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"values": [1], "low": 1}, "give either values or a range (low, high, multiple_of), not both"),
        ({"values": [1], "multiple_of": 1}, "give either values or a range (low, high, multiple_of), not both"),
        ({"low": 9, "high": 8}, "no multiple of 1 lies between 9 and 8"),
        ({"low": 9, "high": 15, "multiple_of": 8}, "no multiple of 8 lies between 9 and 15"),
    ],
)
def test_an_axis_that_is_ambiguous_or_empty_is_refused(fields: dict[str, Any], message: str) -> None:
    assert _axis_refusal(**fields) == message


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"low": -1, "high": 1}, "low"),
        ({"multiple_of": 0, "high": 1}, "multiple_of"),
        ({"values": [-3, 1]}, "values"),
        ({"values": []}, "values"),
    ],
)
def test_an_axis_without_a_usable_size_is_refused(fields: dict[str, Any], place: str) -> None:
    assert place in _axis_refusal(**fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"role": "index", "dtype": "int64"}, "role index needs `below`, and only role index has it"),
        ({"below": "cols"}, "role index needs `below`, and only role index has it"),
        ({"role": "index", "below": 4}, "role index needs a fixed integer dtype"),
        ({"offsets": True, "shape": ["cols"]}, "`offsets` needs role index and a shape"),
        ({"role": "index", "below": 4, "dtype": "int64", "offsets": True}, "`offsets` needs role index and a shape"),
        ({"never": [3]}, "`never` needs role index, and values above 0"),
        ({"role": "index", "below": 4, "dtype": "int64", "never": [0]}, "`never` needs role index, and values above 0"),
        ({"role": "index", "below": 4, "dtype": "float32"}, "role index needs a fixed integer dtype"),
        ({"role": "mask"}, "role mask needs a fixed integer dtype"),
        ({"role": "mask", "dtype": "float64"}, "role mask needs a fixed integer dtype"),
        ({"role": "scalar", "dtype": "int64"}, "role scalar has no shape, and exactly one of `value` and `choices`"),
        (
            {"role": "scalar", "dtype": "int64", "value": 1, "choices": [1.0]},
            "role scalar has no shape, and exactly one of `value` and `choices`",
        ),
        (
            {"role": "scalar", "dtype": "int64", "value": 1, "shape": [1]},
            "role scalar has no shape, and exactly one of `value` and `choices`",
        ),
        ({"role": "scalar", "value": 1}, "role scalar needs dtype int64 or float64"),
        ({"role": "scalar", "value": 1, "dtype": "float32"}, "role scalar needs dtype int64 or float64"),
        ({"value": 1}, "only role scalar has `value`, `choices` or `between`"),
        ({"choices": [1.0]}, "only role scalar has `value`, `choices` or `between`"),
        ({"layouts": ["transposed"]}, "layouts must include contiguous"),
        ({"layouts": []}, "layouts must include contiguous"),
    ],
)
def test_an_input_whose_keys_do_not_fit_its_role_is_refused(fields: dict[str, Any], message: str) -> None:
    assert _input_refusal(**fields) == message


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"role": "index", "below": "cols", "dtype": "int32"},
        {"role": "mask", "dtype": "uint8"},
        {"role": "scalar", "dtype": "int64", "value": 0},
        {"role": "scalar", "dtype": "float64", "choices": [0.5, 2.0]},
    ],
    ids=["activation", "index", "mask", "scalar value", "scalar choices"],
)
def test_an_input_whose_keys_fit_its_role_is_accepted(fields: dict[str, Any]) -> None:
    assert parse(Input, fields, "task.yaml").role == fields.get("role", "activation")


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("key", ["shift", "choices"])
def test_a_number_that_is_not_finite_is_refused(key: str, number: float) -> None:
    fields: dict[str, dict[str, Any]] = {
        "shift": {"shift": number},
        "choices": {"role": "scalar", "dtype": "float64", "choices": [number]},
    }
    assert _input_refusal(**fields[key]).startswith(key)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"inputs": {"x": {"shape": ["rows", "width"]}}}, "inputs.x.shape"),
        ({"inputs": {"x": {**X, "fan_in": "width"}}}, "inputs.x.fan_in"),
        ({"inputs": {"x": {"role": "index", "dtype": "int64", "below": "width"}}}, "inputs.x.below"),
        ({"inputs": {"x": {"role": "scalar", "dtype": "int64", "value": "width"}}}, "inputs.x.value"),
        ({"outputs": {"y": {"shape": ["2 * width"]}}}, "outputs.y.shape"),
        ({"outputs": {"y": {"reduction": "width"}}}, "outputs.y.reduction"),
        ({"constraints": ["rows <= width"]}, "constraints"),
        ({"reduction": "width"}, "reduction"),
        ({"cost": {"flops": "width", "bytes": 1}}, "cost.flops"),
        ({"cost": {"flops": 1, "bytes": "width"}}, "cost.bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unknown_axis_is_named_with_the_place_that_mentions_it(changes: dict[str, Any], place: str) -> None:
    assert _refusal(**changes) == f"{place}: unknown axis 'width'; known: rows, cols"


def test_the_size_of_an_element_is_known_to_costs_only() -> None:
    assert make_task(cost={"flops": "itemsize", "bytes": "itemsize"}).cost.flops == "itemsize"
    assert _refusal(reduction="itemsize") == "reduction: unknown axis 'itemsize'; known: rows, cols"


def test_an_expression_that_is_not_arithmetic_is_named_with_its_place() -> None:
    assert _refusal(reduction="rows ** 2").startswith("reduction: 'rows ** 2': only integers, axes")


@pytest.mark.parametrize(
    ("timed", "message"),
    [
        ({"cpu": TASK["timed"]["cpu"]}, "timed.cuda: at least one binding of axes is required"),
        ({**TASK["timed"], "cpu": []}, "timed.cpu: at least one binding of axes is required"),
        ({**TASK["timed"], "cpu": [{"rows": 1}]}, "timed.cpu.0: binds rows; the axes are rows, cols"),
        ({**TASK["timed"], "cuda": [{}]}, "timed.cuda.0: binds nothing; the axes are rows, cols"),
        (
            {**TASK["timed"], "cpu": [{"rows": 1, "cols": 1}, {"rows": 513, "cols": 1}]},
            "timed.cpu.1: rows=513 is outside the axis",
        ),
        (
            {**TASK["timed"], "cpu": [{"rows": 512, "cols": 512}]},
            "timed.cpu.0: breaks the constraint 'rows * cols <= 65536'",
        ),
    ],
)
def test_a_timed_binding_that_is_no_case_of_the_task_is_refused(timed: dict[str, Any], message: str) -> None:
    assert _refusal(timed=timed) == message


@pytest.mark.parametrize("changes", [{"inputs": {"new": {"shape": ["rows"]}}}, {"axes": {"new": {"high": 4}}}])
def test_a_name_must_be_one_in_kernels_too(changes: dict[str, Any]) -> None:
    merged = {**TASK[next(iter(changes))], **next(iter(changes.values()))}
    message = "'new' is a keyword of C++, in which kernels name their arguments"
    assert _refusal(**{next(iter(changes)): merged}) == message


def test_a_name_cannot_be_both_an_input_and_an_output() -> None:
    assert _refusal(outputs={"x": {"shape": ["rows"]}}) == "'x' names an input and an output"


def test_a_task_none_of_whose_distributions_can_be_timed_is_refused() -> None:
    # Timed calls draw from normal, uniform and lognormal; without one of them there is nothing to draw.
    assert "distributions" in _refusal(distributions=["integers", "large"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "rmsnorm"), ("name", "norm/../rmsnorm"), ("name", "norm/RMS"), ("name", "norm/a/b"), ("version", 0),
        ("summary", "short"), ("axes", {}), ("inputs", {}), ("outputs", {}), ("dtypes", []), ("dtypes", ["int64"]),
        ("axes", {"Rows": {"high": 4}}), ("inputs", {"x y": X}), ("distributions", []), ("distributions", ["zeros"]),
        ("precision", "fast"), ("timed", {**TASK["timed"], "tpu": []}),
    ],
)  # fmt: skip
def test_a_value_outside_the_format_is_refused_with_its_key(key: str, value: object) -> None:
    assert _refusal(**{key: value}).startswith(key)


@pytest.mark.parametrize(
    ("axes", "problem"),
    [
        ({"rows": 512, "cols": 128}, None),
        ({"cols": 1, "rows": 1}, None),
        ({"rows": 1}, "binds rows; the axes are rows, cols"),
        ({"rows": 1, "cols": 1, "depth": 1}, "binds rows, cols, depth; the axes are rows, cols"),
        ({"rows": 0, "cols": 1}, "rows=0 is outside the axis"),
        ({"rows": 512, "cols": 129}, "breaks the constraint 'rows * cols <= 65536'"),
    ],
)
def test_a_misfit_says_why_axes_are_no_case_of_the_task(axes: dict[str, int], problem: str | None) -> None:
    assert make_task().misfit(axes) == problem


@pytest.mark.parametrize(("law", "missing"), [("dropout", "p"), ("categorical", "logits")])
def test_a_random_output_needs_the_inputs_of_its_law(law: str, missing: str) -> None:
    words = _refusal(outputs={"y": {"shape": ["rows", "cols"], "compare": "random", "law": law}})
    assert f"outputs.y.law: unknown input '{missing}'; known: x, weight" in words


def test_a_task_is_random_if_one_of_its_outputs_is_drawn() -> None:
    seed = {"dtype": "int64", "role": "scalar", "choices": [1, 2, 3]}
    p = {"dtype": "float64", "role": "scalar", "choices": [0.4]}
    drawn = {"y": {"shape": ["rows", "cols"], "compare": "random", "law": "dropout"}, "n": {"shape": []}}
    assert make_task(inputs={"x": {"shape": ["rows", "cols"]}, "p": p, "seed": seed}, outputs=drawn).is_random
    assert not make_task().is_random


def test_a_shape_is_its_expressions_with_the_axes_bound() -> None:
    tensor = parse(Input, {"shape": ["rows", 3, "(cols - 1) // 2 + 1"]}, "task.yaml")
    assert shape_of(tensor, {"rows": 7, "cols": 4}) == (7, 3, 2)


def test_the_variable_dtype_follows_the_case_and_a_fixed_one_does_not() -> None:
    task = make_task(inputs={"x": X, "index": {"dtype": "int32", "role": "index", "below": "cols"}})
    assert [task.dtype_of(tensor, "float16") for tensor in task.tensors.values()] == ["float16", "int32", "float16"]


def test_tensors_come_in_the_order_of_the_calling_convention() -> None:
    task = make_task(inputs={"weight": WEIGHT, "x": X}, outputs={"z": {}, "y": {}})
    assert list(task.tensors) == ["weight", "x", "z", "y"]

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rotation import rotating
from specimens import TASK, make_case, make_task

from robust_kbench.cases.values import make_inputs
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution, Task

X = TASK["inputs"]["x"]
LARGE = {"rows": 256, "cols": 256}


def _x(case: Case, task: Task | None = None) -> torch.Tensor:
    return make_inputs(task or make_task(), case).tensors["x"]


def _task_with(**inputs: Any) -> Task:
    return make_task(inputs={"x": X, **inputs})


@pytest.mark.parametrize("distribution", get_args(Distribution))
def test_a_case_gives_the_same_bits_on_every_call(distribution: Distribution) -> None:
    case = make_case(distribution=distribution, dtype="float16")
    one, two = make_inputs(make_task(), case), make_inputs(make_task(), case)
    assert all(torch.equal(one.tensors[name], two.tensors[name]) for name in ("x", "weight"))
    assert one.digest == two.digest


def test_inputs_can_be_moved_to_another_device_and_stay_where_they_are_there_already() -> None:
    inputs = make_inputs(
        make_task(inputs={"x": X, "p": {"dtype": "float64", "role": "scalar", "value": 3}}), make_case()
    )
    moved = inputs.to("meta")
    assert (inputs.place, moved.place, moved.values["p"]) == ("cpu", "meta", 3.0)
    assert inputs.to("cpu") is inputs


def test_another_seed_gives_other_values_to_every_input() -> None:
    one, two = (make_inputs(make_task(), make_case(seed=seed)).tensors for seed in (7, 8))
    assert not torch.equal(one["x"], two["x"])
    assert not torch.equal(one["weight"], two["weight"])


def test_the_values_do_not_depend_on_what_was_drawn_before() -> None:
    before = _x(make_case())
    torch.manual_seed(1)
    torch.randn(100)
    assert torch.equal(before, _x(make_case()))


def test_drawing_inputs_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(1)
    expected = torch.randn(4)
    torch.manual_seed(1)
    make_inputs(make_task(), make_case())
    assert torch.equal(torch.randn(4), expected)


def test_each_input_has_a_stream_of_its_own() -> None:
    twins = make_inputs(_task_with(twin=X), make_case(axes=LARGE)).tensors
    correlation = torch.corrcoef(torch.stack([twins["x"].flatten(), twins["twin"].flatten()]))[0, 1]
    assert abs(float(correlation)) < 0.02


def test_an_input_keeps_its_values_when_another_is_added_before_it() -> None:
    task = make_task(inputs={"bias": {"shape": ["cols"]}, "x": X})
    assert torch.equal(_x(make_case(), task), _x(make_case()))


def test_the_inputs_of_a_case_stay_what_they_were() -> None:
    # Integers, because the last bits of a normal number depend on the processor.
    inputs = make_inputs(make_task(inputs={"x": X}), make_case(distribution="integers"))
    assert inputs.tensors["x"][0].tolist() == [7.0, 3.0, 0.0, -2.0, 5.0, -1.0, -8.0, 5.0]
    assert inputs.digest == "d19a1ccedb0dbd44"


@pytest.mark.parametrize("change", ["value", "name", "dtype"])
def test_the_digest_changes_with_every_bit(change: str) -> None:
    names = {"value": "x", "name": "z", "dtype": "x"}
    case = make_case(dtype="float16" if change == "dtype" else "float32", distribution="integers")
    inputs = make_inputs(make_task(inputs={names[change]: X}), case)
    if change == "value":
        inputs.tensors["x"][3, 7] += 1
    assert inputs.digest != make_inputs(make_task(inputs={"x": X}), make_case(distribution="integers")).digest


@pytest.mark.parametrize("name", rotating(task_names()))
def test_every_value_of_a_task_is_finite_in_its_narrowest_dtype(name: str) -> None:
    task = load_task(name).spec
    axes = dict(task.timed["cpu"][0])
    for axis, spec in task.axes.items():
        axes[axis] = next(size for size in spec.sizes() if size >= min(axes[axis], 16))
    for distribution in task.distributions:
        inputs = make_inputs(task, Case(axes=axes, dtype="float16", distribution=distribution, seed=1))
        assert all(bool(tensor.isfinite().all()) for tensor in inputs.tensors.values())


def test_parameters_do_not_follow_the_distribution_of_the_case() -> None:
    task = make_task(inputs={"x": {**X, "role": "parameter"}})
    drawn = {name: _x(make_case(distribution=name), task) for name in ("normal", "integers", "large")}
    assert torch.equal(drawn["normal"], drawn["integers"])
    assert torch.equal(drawn["normal"], drawn["large"])


def _cotangents(role: str) -> list[torch.Tensor]:
    task = make_task(inputs={"x": {**X, "role": "gradient"}})
    return [_x(make_case(axes=LARGE, distribution="integers", role=role, seed=seed), task) for seed in range(12)]


def _kind(values: torch.Tensor) -> str:
    if set(values.flatten().tolist()) == {0.0, 1.0}:
        return "one_hot"
    return "lognormal" if float(values.abs().min()) > 0.001 else "normal"


def test_an_upstream_gradient_has_a_distribution_of_its_own() -> None:
    assert {_kind(values) for values in _cotangents("check")} == {"normal", "one_hot", "lognormal"}


def test_a_timed_upstream_gradient_is_normal() -> None:
    assert {_kind(values) for values in _cotangents("timed")} == {"normal"}


def test_values_are_divided_by_the_root_of_the_fan_in_and_shifted() -> None:
    plain = _x(make_case())
    task = make_task(inputs={"x": {**X, "fan_in": "2 * cols", "shift": 3.0}})
    assert torch.allclose(_x(make_case(), task), plain / 4 + 3)


OFFSETS: dict[str, Any] = {"shape": ["rows", "cols"], "role": "index", "dtype": "int64", "offsets": True}


@settings(max_examples=30)
@given(below=st.integers(1, 300), cols=st.integers(2, 40), seed=st.integers(0, 2**63 - 1))
def test_offsets_ascend_from_zero_to_the_largest(below: int, cols: int, seed: int) -> None:
    task = _task_with(start={**OFFSETS, "below": below})
    start = make_inputs(task, make_case(axes={"rows": 4, "cols": cols}, seed=seed)).tensors["start"]
    assert bool((start.diff(dim=-1) >= 0).all())
    assert start[:, 0].tolist() == [0] * 4
    assert start[:, -1].tolist() == [below - 1] * 4


@pytest.mark.parametrize("role", ["check", "timed"])
def test_some_values_of_an_index_are_never_drawn(role: str) -> None:
    codes = {"shape": ["rows", "cols"], "role": "index", "dtype": "uint8", "below": 256, "never": [3, 4, 255]}
    task = _task_with(codes=codes)
    drawn = make_inputs(task, make_case(axes={"rows": 64, "cols": 512}, role=role)).tensors["codes"]
    assert set(drawn.flatten().tolist()) == set(range(256)) - {3, 4, 255}


def test_offsets_without_elements_or_with_one_are_what_there_is() -> None:
    task = _task_with(start={**OFFSETS, "below": 9})
    one = make_inputs(task, make_case(axes={"rows": 4, "cols": 1})).tensors["start"]
    assert one.tolist() == [[0]] * 4


@settings(max_examples=30)
@given(below=st.integers(1, 300), seed=st.integers(0, 2**63 - 1), dtype=st.sampled_from(["int64", "int32"]))
def test_an_index_lies_within_its_bound(below: int, seed: int, dtype: str) -> None:
    task = _task_with(index={"shape": ["rows"], "dtype": dtype, "role": "index", "below": "2 * cols - 1"})
    index = make_inputs(task, make_case(axes={"rows": 64, "cols": below}, seed=seed)).tensors["index"]
    assert index.dtype == getattr(torch, dtype)
    assert int(index.min()) >= 0
    assert int(index.max()) < 2 * below - 1


def test_an_index_takes_every_value_below_its_bound() -> None:
    task = _task_with(index={"shape": ["rows"], "dtype": "int64", "role": "index", "below": 5})
    index = make_inputs(task, make_case(axes={"rows": 500, "cols": 1})).tensors["index"]
    assert sorted(set(index.tolist())) == [0, 1, 2, 3, 4]


def test_a_mask_holds_zeros_and_ones() -> None:
    task = _task_with(mask={"shape": ["rows"], "dtype": "uint8", "role": "mask"})
    mask = make_inputs(task, make_case(axes={"rows": 500, "cols": 1})).tensors["mask"]
    assert sorted(set(mask.tolist())) == [0, 1]


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"dtype": "int64", "value": "rows + 1"}, 5),
        ({"dtype": "int64", "value": 0}, 0),
        ({"dtype": "float64", "value": "cols"}, 8.0),
        ({"dtype": "float64", "choices": [0.25]}, 0.25),
        ({"dtype": "int64", "choices": [3.0]}, 3),
    ],
)
def test_a_scalar_has_its_value_and_its_type(fields: dict[str, Any], value: float) -> None:
    inputs = make_inputs(_task_with(n={"role": "scalar", **fields}), make_case())
    assert inputs.values["n"] == value
    assert type(inputs.values["n"]) is type(value)
    assert "n" not in inputs.tensors


def test_a_scalar_takes_each_of_its_choices() -> None:
    task = _task_with(n={"role": "scalar", "dtype": "float64", "choices": [0.5, 1.0, 2.0]})
    assert {make_inputs(task, make_case(seed=seed)).values["n"] for seed in range(30)} == {0.5, 1.0, 2.0}


def test_inputs_come_in_the_order_of_the_task() -> None:
    task = make_task(inputs={"z": X, "n": {"role": "scalar", "dtype": "int64", "value": 1}, "a": X})
    assert list(make_inputs(task, make_case()).values) == ["z", "n", "a"]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_values_are_rounded_to_the_dtype_of_the_case(dtype: str) -> None:
    assert _x(make_case(dtype=dtype)).dtype == getattr(torch, dtype)
    assert torch.equal(_x(make_case(dtype=dtype)), _x(make_case()).to(getattr(torch, dtype)))


def test_an_expanded_input_repeats_one_slice_and_a_contiguous_one_does_not() -> None:
    task = make_task(inputs={"x": {**X, "layouts": ["contiguous", "expanded"]}})
    repeated, plain = _x(make_case(layout="expanded"), task), _x(make_case(), task)
    assert repeated.shape == plain.shape
    assert torch.equal(repeated, repeated[:1].expand_as(repeated))
    assert not torch.equal(plain, plain[:1].expand_as(plain))


def test_an_input_that_does_not_declare_expansion_is_not_repeated() -> None:
    values = _x(make_case(layout="expanded"))
    assert not torch.equal(values, values[:1].expand_as(values))


def test_an_input_without_axes_has_nothing_to_expand() -> None:
    task = _task_with(scale={"shape": [], "layouts": ["contiguous", "expanded"]})
    assert make_inputs(task, make_case(layout="expanded")).tensors["scale"].shape == ()


def test_an_expanded_index_repeats_too_because_the_worker_is_given_one_slice_of_it() -> None:
    layouts = ["contiguous", "expanded"]
    index = {"shape": ["rows"], "dtype": "int64", "role": "index", "below": 1000, "layouts": layouts}
    drawn = make_inputs(_task_with(index=index), make_case(layout="expanded")).tensors["index"]
    assert len(set(drawn.tolist())) == 1


def test_a_scalar_with_a_range_is_one_of_its_choices_half_of_the_time() -> None:
    task = _task_with(seed={"dtype": "int64", "role": "scalar", "choices": [0, 7], "between": [0, 2**40]})
    drawn = [int(make_inputs(task, make_case(seed=seed)).values["seed"]) for seed in range(200)]
    named = [value for value in drawn if value in (0, 7)]
    assert 70 < len(named) < 130
    assert len(set(drawn) - {0, 7}) == 200 - len(named)
    assert 2**38 < max(drawn) < 2**40


def test_a_timed_scalar_with_a_range_is_never_one_of_few() -> None:
    task = _task_with(seed={"dtype": "int64", "role": "scalar", "choices": [0, 7], "between": [0, 2**40]})
    assert len({make_inputs(task, make_case(seed=seed, role="timed")).values["seed"] for seed in range(100)}) == 100

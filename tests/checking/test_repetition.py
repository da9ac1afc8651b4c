"""Distance between two answers, in units of the error that one answer may have."""

from __future__ import annotations

import math

import pytest
import torch
from specimens import make_task

from robust_kbench.checking.repetition import compare
from robust_kbench.schema.observation import Repetition

LIMITS = {"y": (1e-5, 2e-5, 4e-5)}


def _compared(first: torch.Tensor, second: torch.Tensor, **changes: object) -> Repetition:
    return compare(make_task(**changes), {"y": first}, {"y": second}, LIMITS)


def _values(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(64, 64, generator=torch.Generator().manual_seed(1)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_equal_answers_do_not_differ(dtype: torch.dtype) -> None:
    assert _compared(_values(dtype), _values(dtype)) == Repetition("y", 0, 4096, 0.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_one_unit_in_the_last_place_differs_and_costs_nothing(dtype: torch.dtype) -> None:
    first = _values(dtype)
    second = first.clone()
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    second.view(bits)[0] += 1
    assert _compared(first, second) == Repetition("y", 64, 4096, 0.0)


def test_a_larger_distance_is_told_in_units_of_the_limits() -> None:
    first = _values()
    second = first * (1 + 5e-6)
    repetition = _compared(first, second)
    assert repetition.differing > 4000
    assert repetition.ratio == pytest.approx(0.5, rel=0.05)  # the whole tensor, which may be off by 1e-5


def test_one_element_that_is_far_off_counts_by_the_limit_of_elements() -> None:
    first = _values()
    second = first.clone()
    second[3, 5] = first[3, 5] + 1.0
    repetition = _compared(first, second)
    assert repetition.differing == 1
    assert repetition.ratio > 100


def test_zeros_of_both_signs_and_nans_are_equal() -> None:
    first = torch.tensor([[0.0, math.nan, 1.0]])
    second = torch.tensor([[-0.0, math.nan, 1.0]])
    assert _compared(first, second).differing == 0


def test_a_nan_in_one_of_them_is_as_far_as_can_be() -> None:
    second = _values()
    second[0, 0] = math.nan
    assert _compared(_values(), second).ratio == math.inf


@pytest.mark.parametrize("compare", ["ulp", "exact"])
def test_where_nothing_is_summed_nothing_beyond_the_last_place_may_differ(compare: str) -> None:
    outputs = {"y": {"shape": ["rows", "cols"], "compare": compare}}
    first = _values()
    second = first.clone()
    second[0, 0] *= 1 + 1e-6
    assert _compared(first, second, outputs=outputs).ratio == math.inf


def test_equal_values_may_be_listed_in_another_order() -> None:
    outputs = {"y": {"shape": ["rows"], "dtype": "int64", "compare": "indices", "indexes": "x"}}
    repetition = _compared(torch.tensor([0, 1, 2]), torch.tensor([1, 0, 2]), outputs=outputs)
    assert repetition == Repetition("y", 2, 3, 0.0)


def test_a_task_may_be_declared_nondeterministic() -> None:
    assert _compared(_values(), _values() * 1.1, nondeterministic=True).may_differ


def test_of_several_outputs_the_one_that_differs_most_is_told() -> None:
    outputs = {"y": {"shape": ["rows", "cols"]}, "z": {"shape": ["rows", "cols"]}}
    task, first = make_task(outputs=outputs), _values()
    limits = {name: LIMITS["y"] for name in outputs}
    found = compare(task, {"y": first, "z": first}, {"y": first * (1 + 1e-6), "z": first * 2}, limits)
    assert found.output == "z"

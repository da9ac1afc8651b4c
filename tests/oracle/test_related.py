from __future__ import annotations

import math

import pytest
import torch
from specimens import make_case, make_task

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs
from robust_kbench.oracle import agreement, related

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def _normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)


@every_dtype
@pytest.mark.parametrize("power", [-3, -1, 1, 3])
def test_ordinary_values_can_be_scaled(dtype: torch.dtype, power: int) -> None:
    assert related.scales(torch.tensor([0.0, 0.5, -3.0], dtype=dtype), power, 1)


@pytest.mark.parametrize(
    ("dtype", "value", "power", "degree", "is_safe"),
    [
        (torch.float32, 2.0**-127, 1, 1, False), (torch.float32, 2.0**-126, 1, 1, True),
        (torch.float32, 2.0**-126, -1, 1, False), (torch.bfloat16, 2.0**-130, 4, 1, False),
        (torch.float16, 3 * 2.0**-24, 1, 1, True), (torch.float16, 3 * 2.0**-24, -1, 1, False),
        (torch.float16, 2.0**14, 1, 1, False), (torch.float16, 2.0**12, 1, 1, True),
        (torch.float16, 100.0, 1, 2, False), (torch.float16, 50.0, 1, 2, True), (torch.float16, 90.0, 3, 0, False),
        (torch.float16, 8.0, 3, 0, True), (torch.float32, math.inf, -1, 1, False),
        (torch.float32, math.nan, 1, 1, False), (torch.float32, 2.0**126, -1, 1, False),
    ],
)  # fmt: skip
def test_values_near_the_ends_of_the_range_cannot(
    dtype: torch.dtype, value: float, power: int, degree: int, is_safe: bool
) -> None:
    assert related.scales(torch.tensor([1.0, value], dtype=dtype), power, degree) == is_safe


def test_a_real_scalar_can_be_scaled_and_an_integer_cannot() -> None:
    assert related.scales(2.5, 3, 1)
    assert not related.scales(2, 3, 1)


@pytest.mark.parametrize("size", [2, 3, 100])
def test_a_random_order_moves_something_and_loses_nothing(size: int) -> None:
    for seed in range(20):
        order = related.random_order(size, Draw(seed))
        assert order is not None
        assert sorted(order.tolist()) == list(range(size))
        assert order.tolist() != list(range(size))


@every_dtype
def test_a_shifted_pair_differs_by_one_constant_in_each_row_exactly(dtype: torch.dtype) -> None:
    base, shifted = related.shifted_pair(_normal(50, 20, dtype=dtype), torch.Generator().manual_seed(2))
    difference = shifted.double() - base.double()
    assert torch.equal(difference, difference[:, :1].expand_as(difference))
    assert float(difference.abs().min()) >= 85
    assert set(difference.sign().unique(sorted=True).tolist()) == {-1.0, 1.0}  # type: ignore[no-untyped-call]
    assert float((base.double() - _normal(50, 20, dtype=dtype).double()).abs().max()) < 0.6


@every_dtype
def test_integers_are_small_and_as_many_as_asked_for(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(3)
    dense = related.integers(_normal(100, 100, dtype=dtype), 4, 1.0, generator)
    thin = related.integers(_normal(100, 100, dtype=dtype), 4, 0.1, generator)
    assert set(dense.double().reshape(-1).tolist()) == set(range(-4, 5))
    assert dense.dtype == dtype
    assert 0.06 < float((thin != 0).double().mean()) < 0.12


def test_fixed_integers_are_left_alone() -> None:
    index = torch.tensor([3, 1, 2])
    assert related.integers(index, 4, 1.0, torch.Generator()) is index


def test_indices_are_read_as_the_values_that_they_point_at() -> None:
    outputs = {
        "top": {"shape": ["rows"], "dtype": "int64", "compare": "indices", "indexes": "x"},
        "both": {"shape": ["rows", 2], "dtype": "int64", "compare": "indices", "indexes": "x"},
    }
    task = make_task(outputs=outputs)
    inputs = Inputs({"x": torch.tensor([[5.0, 7.0, 6.0], [9.0, 8.0, 7.0]]), "weight": torch.ones(3)})
    given = {"top": torch.tensor([1, 0]), "both": torch.tensor([[1, 2], [0, 9]])}
    found = related.pointed_at(task, inputs, given)
    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        "top": [7.0, 9.0],
        "both": [[7.0, 6.0], [9.0, 7.0]],
    }


@pytest.mark.parametrize(
    ("dtype", "one", "two", "both", "holds"),
    [
        (torch.bfloat16, 100.0, 20.0, 120.0, True), (torch.bfloat16, 100.0, 20.0, 121.0, False),
        (torch.bfloat16, 1000.0, 1000.0, 2008.0, True), (torch.bfloat16, 1000.0, 1000.0, 2080.0, False),
        (torch.float16, 1000.0, 20.0, 1021.0, False), (torch.float32, 5e6, 1.0, 5e6 + 2, False),
        (torch.float16, math.inf, 1.0, math.inf, True), (torch.float16, math.nan, 1.0, 1.0, False),
        (torch.int64, 5.0, 6.0, 11.0, True), (torch.int64, 5.0, 6.0, 12.0, False),
    ],
)  # fmt: skip
def test_integers_add_up_exactly_while_the_dtype_holds_them(
    dtype: torch.dtype, one: float, two: float, both: float, holds: bool
) -> None:
    first, second, total = (torch.tensor([value], dtype=torch.float64) for value in (one, two, both))
    assert bool(agreement.adds_up(first, second, total, dtype)) == holds


@pytest.mark.parametrize(
    ("dtype", "first", "got", "power", "is_free"),
    [
        (torch.float32, 1.0, 2.5, 1, False), (torch.float32, math.inf, 1.0, -1, True),
        (torch.float32, 3e38, 1.0, 1, True), (torch.float32, 2.0**-127, 0.0, 1, True),
        (torch.float32, 2.0**-127, 1.0, 1, False), (torch.float16, 2000.0, 1.0, 1, True),
        (torch.float16, 400.0, 1.0, 1, False), (torch.float16, 2.0**-24, 0.0, 1, True),
        (torch.float16, 2.0**-20, 0.0, 1, False), (torch.bfloat16, 2000.0, 1.0, 1, False),
    ],
)  # fmt: skip
def test_only_the_ends_of_the_range_are_silent(
    dtype: torch.dtype, first: float, got: float, power: int, is_free: bool
) -> None:
    before = torch.tensor([first], dtype=dtype)
    expected = agreement.times(before, power)
    assert bool(agreement.is_silent(torch.tensor([got], dtype=dtype), expected, before, power)) == is_free


def test_a_row_of_zeros_sums_to_zero_only() -> None:
    task, answer = make_task(), torch.zeros(4, 8)
    assert agreement.differs_in_sum(task, "y", make_case(), answer, 0.0, {}) is None
    assert agreement.differs_in_sum(task, "y", make_case(), answer, 1e-6, {})

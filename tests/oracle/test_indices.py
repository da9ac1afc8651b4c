from __future__ import annotations

import math

import pytest
import torch

from robust_kbench.oracle.indices import Indices

TIED = torch.tensor([[3.0, 1.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0]])


def _top(count: int) -> Indices:
    return Indices(TIED, -1, TIED.topk(count, -1).indices)


@pytest.mark.parametrize("answer", [[[0, 2], [0, 1]], [[2, 0], [3, 1]], [[0, 2], [1, 3]]])
def test_any_order_among_equal_values_is_accepted(answer: list[list[int]]) -> None:
    assert _top(2).judge(torch.tensor(answer)).is_accepted


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ([[0, 0], [0, 1]], [[False, True], [False, False]]),
        ([[0, 3], [0, 1]], [[False, True], [False, False]]),
        ([[0, 2], [2, 2]], [[False, False], [False, True]]),
        ([[0, 4], [0, 1]], [[False, True], [False, False]]),
        ([[-1, 2], [0, 1]], [[True, False], [False, False]]),
    ],
    ids=["repeated", "another value", "repeated among ties", "too large", "negative"],
)
def test_an_index_that_is_out_of_range_repeated_or_points_at_another_value_is_wrong(
    answer: list[list[int]], wrong: list[list[bool]]
) -> None:
    judged = _top(2).judge(torch.tensor(answer))
    assert (judged.is_accepted, judged.errors) == (False, (1.0,))
    assert _top(2).is_wrong(torch.tensor(answer)).tolist() == wrong


def test_the_order_of_unequal_values_matters() -> None:
    x = torch.tensor([5.0, 4.0, 6.0])
    standard = Indices(x, 0, x.sort().indices)
    assert standard.judge(torch.tensor([1, 0, 2])).is_accepted
    assert not standard.judge(torch.tensor([0, 1, 2])).is_accepted


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_the_largest_of_each_slice_needs_no_axis_of_its_own(axis: int) -> None:
    x = torch.randint(0, 3, (5, 7), generator=torch.Generator().manual_seed(1)).float()
    first, flipped = x.argmax(axis), x.shape[axis] - 1 - x.flip(axis).argmax(axis)
    standard = Indices(x, axis, first)
    assert not torch.equal(first, flipped)
    assert standard.judge(first).is_accepted
    assert standard.judge(flipped).is_accepted
    smallest = x.argmin(axis)
    assert torch.equal(standard.is_wrong(smallest), x.amin(axis) != x.amax(axis))


def test_indices_along_the_first_axis_are_distinct_per_column() -> None:
    x = torch.tensor([[1.0, 1.0], [1.0, 2.0]])
    standard = Indices(x, 0, x.sort(0).indices)
    assert standard.judge(torch.tensor([[1, 0], [0, 1]])).is_accepted
    assert not standard.judge(torch.tensor([[1, 0], [1, 1]])).is_accepted


def test_an_index_of_a_nan_may_be_any_of_those_that_are_nan() -> None:
    x = torch.tensor([1.0, math.nan, math.nan])
    standard = Indices(x, 0, x.argmax(0))
    assert [standard.judge(torch.tensor(index)).is_accepted for index in range(3)] == [False, True, True]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_indices_of_either_width_are_judged(dtype: torch.dtype) -> None:
    x = torch.arange(6.0)
    assert Indices(x, 0, x.sort().indices.to(dtype)).judge(torch.arange(6, dtype=dtype)).is_accepted


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)], ids=str)
def test_no_indices_are_right(shape: tuple[int, ...]) -> None:
    x = torch.empty(shape)
    assert Indices(x, -1, x.sort(-1).indices).judge(torch.empty(shape, dtype=torch.int64)).is_accepted

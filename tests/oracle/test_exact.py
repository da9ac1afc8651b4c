from __future__ import annotations

import math

import pytest
import torch

from robust_kbench.oracle.exact import Exact

NAN = math.nan


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8], ids=str)
@pytest.mark.parametrize(("change", "is_accepted"), [(0, True), (1, False)])
def test_an_integer_must_be_exact(dtype: torch.dtype, change: int, is_accepted: bool) -> None:
    expected = torch.arange(100).reshape(10, 10).to(dtype)
    answer = expected.clone()
    answer[9, 9] += change
    judged = Exact(expected).judge(answer)
    assert judged.is_accepted == is_accepted
    assert judged.ratio == (0 if is_accepted else 2)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_copy_that_is_off_by_one_unit_in_the_last_place_is_refused(dtype: torch.dtype) -> None:
    expected = torch.linspace(1, 2, 64).to(dtype)
    answer = expected.clone()
    assert Exact(expected).judge(answer).is_accepted
    answer[63] = 2 + 2 * torch.finfo(dtype).eps
    assert not Exact(expected).judge(answer).is_accepted


@pytest.mark.parametrize(
    ("got", "expected", "is_accepted"),
    [
        (NAN, NAN, True), (-0.0, 0.0, True), (math.inf, math.inf, True),
        (NAN, 0.0, False), (0.0, NAN, False), (-math.inf, math.inf, False), (math.inf, 3e38, False),
    ],
)  # fmt: skip
def test_nan_equals_nan_and_a_negative_zero_equals_zero(got: float, expected: float, is_accepted: bool) -> None:
    assert Exact(torch.tensor([expected])).judge(torch.tensor([got])).is_accepted == is_accepted


@pytest.mark.parametrize("shape", [(0,), (4, 0), ()], ids=str)
def test_empty_tensors_and_single_numbers_can_be_equal(shape: tuple[int, ...]) -> None:
    assert Exact(torch.ones(shape)).judge(torch.ones(shape)).is_accepted


def test_wrong_elements_are_counted_and_reported() -> None:
    standard = Exact(torch.tensor([1, 2, 3]))
    assert standard.judge(torch.tensor([0, 2, 4])).errors == (2.0,)
    assert standard.is_wrong(torch.tensor([1, 2, 4])).tolist() == [False, False, True]

"""Few sums in half precision: one rounding, and beyond it what float32 may be off by."""

from __future__ import annotations

import math

import pytest
import torch

from robust_kbench.cases.contract import rounding
from robust_kbench.oracle.one_rounding import OneRounding, is_one_rounding
from robust_kbench.oracle.three_metrics import UNIT_ROUNDOFF, ThreeMetrics

HALVES = (torch.float16, torch.bfloat16)
TERMS = 1 << 14


def standard(
    exact: torch.Tensor, dtype: torch.dtype, native: torch.Tensor | None = None, terms: int = TERMS
) -> OneRounding:
    held = ThreeMetrics(exact, native, dtype=dtype, reduction=terms)
    return OneRounding(held, exact, native, dtype=dtype, reduction=terms, nearby=())


@pytest.mark.parametrize("dtype", HALVES)
def test_every_number_passes_as_it_is_rounded_and_with_an_error_of_float32(dtype: torch.dtype) -> None:
    exact = torch.rand(4000, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).mul_(30).exp_() / 1e7
    exact = exact[exact < 6e4]
    nudged = exact * (1 + 2.0**-22 * torch.randn(exact.shape, generator=torch.Generator().manual_seed(2)))
    for answer in (exact.to(dtype), nudged.to(dtype), -exact.to(dtype)):
        assert standard(exact if answer[0] > 0 else -exact, dtype).judge(answer).is_accepted


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("way", [-1, 1])
def test_a_rounding_more_is_refused_which_the_rule_has_room_for(dtype: torch.dtype, way: int) -> None:
    unit = UNIT_ROUNDOFF[dtype]
    exact = torch.tensor(1.5, dtype=torch.float64)
    answer = torch.tensor(1.5 + way * 2 * unit, dtype=dtype)  # the next number of the dtype
    held = standard(exact, dtype)
    assert ThreeMetrics(exact, None, dtype=dtype, reduction=TERMS).judge(answer).is_accepted
    judgement = held.judge(answer)
    assert not judgement.is_accepted
    assert "more than the last rounding" in judgement.demand
    assert bool(held.is_wrong(answer).all())


@pytest.mark.parametrize("dtype", HALVES)
def test_what_pytorch_errs_by_beyond_its_rounding_is_allowed_twice(dtype: torch.dtype) -> None:
    unit = UNIT_ROUNDOFF[dtype]
    exact = torch.tensor(1.5, dtype=torch.float64)
    native = torch.tensor(1.5 + 2 * unit, dtype=dtype)
    assert standard(exact, dtype, native).judge(native).is_accepted
    assert not standard(exact, dtype, exact.to(dtype)).judge(native).is_accepted


def test_few_terms_may_each_have_been_rounded() -> None:
    exact, answer = torch.tensor(1.5, dtype=torch.float64), torch.tensor(1.5 + 2.0**-7, dtype=torch.bfloat16)
    assert standard(exact, torch.bfloat16, terms=32).judge(answer).ratio > 1.0
    off_by_a_third = torch.tensor(1.5 - 2.0**-8 / 3, dtype=torch.float64)
    assert standard(off_by_a_third, torch.bfloat16, terms=32).judge(answer).ratio > 1.0
    assert standard(1.5 + 2.0**-8 * 0.8 + 0 * exact, torch.bfloat16, terms=32).judge(answer).is_accepted


@pytest.mark.parametrize("dtype", HALVES)
def test_half_of_the_rows_show(dtype: torch.dtype) -> None:
    """A mean over every second row, whose standard error is a third of a rounding."""
    source = torch.Generator().manual_seed(3)
    spread = UNIT_ROUNDOFF[dtype] * math.sqrt(256) / 3
    seen = 0
    for _ in range(100):
        middle = 1 + torch.rand((), dtype=torch.float64, generator=source)
        rows = middle * (1 + spread * torch.randn(512, dtype=torch.float64, generator=source))
        judge = standard(rows.mean(), dtype, rows.mean().to(dtype)).judge
        assert judge(rows.float().mean().to(dtype)).is_accepted
        seen += not judge(rows[::2].mean().to(dtype)).is_accepted
    assert seen >= 2


def test_numbers_that_the_dtype_does_not_have_are_left_to_the_rule() -> None:
    exact = torch.tensor([1e6, 1.0], dtype=torch.float64)
    judge = standard(exact, torch.float16).judge
    assert judge(torch.tensor([math.inf, 1.0], dtype=torch.float16)).is_accepted
    assert not judge(torch.tensor([6e4, 1.0], dtype=torch.float16)).is_accepted
    assert not judge(torch.tensor([math.inf, math.nan], dtype=torch.float16)).is_accepted


@pytest.mark.parametrize("exact", [0.0, 2.0**-25, 3e-8, 6e-8, 1e-7])
def test_the_smallest_numbers_of_float16_are_rounded_to_the_nearest(exact: float) -> None:
    value = torch.tensor(exact, dtype=torch.float64)
    assert standard(value, torch.float16).judge(value.to(torch.float16)).is_accepted


@pytest.mark.parametrize(
    ("dtype", "elements", "given", "terms", "precision", "is_held"),
    [
        (torch.float16, 1, 64, 64, "ieee", True),
        (torch.bfloat16, 4096, 1 << 20, 64, "tf32_ok", True),
        (torch.float32, 1, 64, 64, "ieee", False),
        (torch.float16, 4097, 1 << 20, 64, "ieee", False),
        (torch.float16, 100, 3199, 64, "ieee", False),
        (torch.float16, 1, 64, 31, "ieee", False),
        (torch.float16, 1, 64, 64, "any_halfacc", False),
        (torch.float16, 1, 64, 64, "fp8", False),
    ],
)
def test_few_results_of_many_terms_in_halves_are_held_to_one_rounding(
    dtype: torch.dtype, elements: int, given: int, terms: int, precision: str, is_held: bool
) -> None:
    allowed = rounding(precision, str(dtype).removeprefix("torch."))  # type: ignore[arg-type]
    assert is_one_rounding(dtype, elements, given, terms, allowed) == is_held

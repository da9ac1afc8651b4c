"""Error that all elements of a scaled tensor have in common."""

from __future__ import annotations

import pytest
import torch

from robust_kbench.cases.contract import rounding
from robust_kbench.oracle.common_factor import CommonFactor
from robust_kbench.oracle.three_metrics import ThreeMetrics

TERMS = 1 << 18
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def values(dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(512, 512, generator=torch.Generator().manual_seed(1)).to(dtype)


def standard(exact: torch.Tensor, dtype: torch.dtype, native: torch.Tensor | None = None) -> CommonFactor:
    held = ThreeMetrics(exact, None, dtype=dtype, reduction=TERMS)
    allowed = rounding("ieee", str(dtype).removeprefix("torch."))
    return CommonFactor(held, exact, native, dtype=dtype, reduction=TERMS, allowed=allowed)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factor", [1.0, 0.37, 1e-3])
def test_a_factor_that_float32_is_off_by_passes(dtype: torch.dtype, factor: float) -> None:
    x = values(dtype)
    exact = x.double() * factor
    for off in (0.0, 1e-5, -3e-5):
        assert standard(exact, dtype).judge((x.float() * (factor * (1 + off))).to(dtype)).is_accepted


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("off", [1e-3, -1e-3])
def test_a_factor_that_is_off_by_a_thousandth_is_refused_which_the_rule_has_room_for(
    dtype: torch.dtype, off: float
) -> None:
    x = values(dtype)
    exact, answer = x.double() * 0.37, (x.float() * (0.37 * (1 + off))).to(dtype)
    held = ThreeMetrics(exact, None, dtype=dtype, reduction=TERMS)
    assert dtype == torch.float16 or held.judge(answer).is_accepted
    judgement = standard(exact, dtype).judge(answer)
    assert not judgement.is_accepted
    assert judgement.errors[3] == pytest.approx(1e-3, rel=0.2)
    assert bool(standard(exact, dtype).is_wrong(answer).all())


def test_what_pytorchs_factor_is_off_by_is_allowed_twice() -> None:
    x = values(torch.bfloat16)
    exact = x.double() * 0.37
    right, native, answer = ((x.float() * (0.37 * (1 + off))).bfloat16() for off in (0.0, 1e-3, 1.8e-3))
    assert standard(exact, torch.bfloat16, native).judge(answer).is_accepted
    assert not standard(exact, torch.bfloat16, right).judge(answer).is_accepted


@pytest.mark.parametrize("x", [torch.zeros(4, 4), torch.empty(0, 4), torch.tensor([[torch.inf, torch.nan, 1.0, 2.0]])])
def test_zeros_no_elements_and_infinities_are_left_to_the_rule(x: torch.Tensor) -> None:
    answer = x.bfloat16()
    assert standard(x.double(), torch.bfloat16).judge(answer).is_accepted


def test_a_few_large_elements_do_not_average_out() -> None:
    x = values(torch.bfloat16)
    x[0, 0] = 1e4
    exact = x.double() * 0.37
    assert standard(exact, torch.bfloat16).judge((x.float() * 0.37).bfloat16()).is_accepted

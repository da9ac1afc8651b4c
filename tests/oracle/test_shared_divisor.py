"""A softmax's elements beside their divisor."""

from __future__ import annotations

import pytest
import torch

from robust_kbench.oracle.digits import rounded
from robust_kbench.oracle.shared_divisor import SharedDivisor
from robust_kbench.oracle.three_metrics import ThreeMetrics

COLS = 4096


def values(scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(16, COLS, generator=torch.Generator().manual_seed(1))


def standard(x: torch.Tensor, native: torch.Tensor | None = None) -> SharedDivisor:
    exact = torch.softmax(x.double(), -1)
    return SharedDivisor(ThreeMetrics(exact, None, dtype=torch.float32, reduction=COLS), exact, x, native)


def coarse(x: torch.Tensor, digits: int) -> torch.Tensor:
    exponential = rounded((x - x.amax(-1, keepdim=True)).exp(), digits)
    return exponential / exponential.sum(-1, keepdim=True)


@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0, 20.0])
def test_pytorchs_softmax_and_that_by_powers_of_two_pass(scale: float) -> None:
    x = values(scale)
    by_powers = torch.exp2((x - x.amax(-1, keepdim=True)) * 1.4426950408889634)
    for answer in (torch.softmax(x, -1), by_powers / by_powers.sum(-1, keepdim=True)):
        assert standard(x).judge(answer).is_accepted


def test_a_row_may_have_a_divisor_as_coarse_as_the_rule_allows() -> None:
    x = values()
    wrong = 1 + 2.0**-19 * torch.randn(16, 1, generator=torch.Generator().manual_seed(2))
    assert standard(x).judge(torch.softmax(x, -1) * wrong).is_accepted


def test_coarse_exponentials_are_refused_which_the_rule_has_room_for() -> None:
    x = values()
    answer = coarse(x, 17)
    held = ThreeMetrics(torch.softmax(x.double(), -1), None, dtype=torch.float32, reduction=COLS)
    assert held.judge(answer).is_accepted
    judgement = standard(x).judge(answer)
    assert not judgement.is_accepted
    assert "one divisor" in judgement.demand
    assert float(standard(x).is_wrong(answer).double().mean()) > 0.001


def test_what_pytorch_is_off_by_is_allowed_twice() -> None:
    x = values()
    assert standard(x, coarse(x, 17)).judge(coarse(x, 17)).is_accepted
    assert not standard(x, coarse(x, 21)).judge(coarse(x, 17)).is_accepted


@pytest.mark.parametrize(
    "x", [torch.full((3, 1), 7.0), torch.zeros(3, 8), torch.empty(0, 8), torch.tensor([[0.0, -200.0]])]
)
def test_rows_of_one_equal_numbers_no_rows_and_vanishing_ones_say_nothing(x: torch.Tensor) -> None:
    assert standard(x).judge(torch.softmax(x, -1)).is_accepted


def test_a_nan_is_left_to_the_rule() -> None:
    x = values()
    answer = torch.softmax(x, -1)
    answer[3, 5] = torch.nan
    assert not standard(x).judge(answer).is_accepted

from __future__ import annotations

import math

import pytest
import torch

from robust_kbench.oracle import neighbour
from robust_kbench.oracle.neighbour import Neighbour


def _near(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


def _accepts(answer: torch.Tensor, near: torch.Tensor, limit: float = 1e-3) -> bool:
    return Neighbour(near, (limit, limit, limit), answer.dtype).judge(answer).is_accepted


@pytest.mark.parametrize("block", [1, 100, 1 << 20])
def test_the_neighbour_flips_its_verdict_at_each_of_its_limits(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbour, "_BLOCK_ELEMENTS", block)
    near = torch.ones(20, 30)
    for factor, is_accepted in ((0.98e-3, True), (1.02e-3, False)):
        assert _accepts(near * (1 + factor), near) == is_accepted
        assert Neighbour(near, (1e-3, 9.0, 9.0), near.dtype).judge(near * (1 + factor)).is_accepted == is_accepted
        row = near.clone()
        row[7] *= 1 + factor
        assert Neighbour(near, (9.0, 1e-3, 9.0), row.dtype).judge(row).is_accepted == is_accepted
        element = near.clone()
        element[19, 29] *= 1 + 2 * factor  # |r| + s is two
        assert Neighbour(near, (9.0, 9.0, 1e-3), element.dtype).judge(element).is_accepted == is_accepted


@pytest.mark.parametrize("number", [math.nan, math.inf], ids=str)
def test_the_neighbour_refuses_what_is_not_finite_unless_it_is_so_itself(number: float) -> None:
    near = _near(8, 8)
    answer = near.clone()
    answer[2, 3] = number
    judgement = Neighbour(near, (1.0, 1.0, 1.0), torch.float32).judge(answer)
    assert (judgement.is_accepted, judgement.nonfinite) == (False, 1)
    near[2, 3] = number
    assert _accepts(answer, near)
    answer[2, 3] = 5.0
    assert _accepts(answer, near)
    answer[2, 4] += 1.0
    assert not _accepts(answer, near)


def test_a_neighbour_that_half_precision_cannot_hold_asks_nothing() -> None:
    near = _near(8, 8)
    near[1, 1] = 65519.0
    for value in (65504.0, math.inf):
        answer = near.half()
        answer[1, 1] = value
        assert _accepts(answer, near)


@pytest.mark.parametrize("shape", [(), (5,), (0,), (0, 4), (4, 0), (2, 3, 4)], ids=str)
def test_the_neighbour_takes_every_shape(shape: tuple[int, ...]) -> None:
    near = _near(*shape)
    assert _accepts(near.clone(), near)
    assert Neighbour(near, (1e-3, 1e-3, 1e-3), torch.float32).is_wrong(near).shape == shape
    if near.numel():
        assert not _accepts(near + 1, near)


def test_the_neighbour_reports_the_elements_that_differ() -> None:
    near = _near(6, 7)
    answer = near.clone()
    answer[5, 2] += 0.5
    assert Neighbour(near, (1e-3, 1e-3, 1e-3), torch.float32).is_wrong(answer).nonzero().tolist() == [[5, 2]]


@pytest.mark.parametrize(("dtype", "is_accepted"), [(torch.float16, True), (torch.bfloat16, False)], ids=str)
def test_a_quantum_of_subnormal_half_precision_is_no_error(dtype: torch.dtype, is_accepted: bool) -> None:
    near = torch.full((8, 8), 1e-7)
    assert _accepts((near + 2.0**-24 / 2).to(dtype), near) == is_accepted

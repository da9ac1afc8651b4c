from __future__ import annotations

import pytest
import torch

from robust_kbench.audit.truncation import truncated

HALVES = [torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", HALVES)
def test_what_is_stored_is_the_next_number_towards_zero(dtype: torch.dtype) -> None:
    step = torch.finfo(dtype).eps
    values = torch.tensor([1.0, 1.0 + 0.3 * step, 1.0 + 0.9 * step, -1.0 - 0.9 * step, 0.0])
    assert truncated(values, dtype).tolist() == [1.0, 1.0, 1.0, -1.0, 0.0]


@pytest.mark.parametrize("dtype", HALVES)
def test_a_truncated_number_is_never_larger_and_less_than_one_unit_off(dtype: torch.dtype) -> None:
    values = torch.randn(10_000, generator=torch.Generator().manual_seed(0))
    stored = truncated(values, dtype).float()
    assert bool((stored.abs() <= values.abs()).all())
    assert bool(((values - stored).abs() < torch.finfo(dtype).eps * values.abs().clamp(min=2.0**-14)).all())


@pytest.mark.parametrize("dtype", HALVES)
def test_nan_and_infinities_stay_what_they_are(dtype: torch.dtype) -> None:
    stored = truncated(torch.tensor([torch.nan, torch.inf, -torch.inf]), dtype)
    assert bool(stored[0].isnan())
    assert stored[1:].tolist() == [torch.inf, -torch.inf]


def test_float32_is_stored_as_it_is() -> None:
    values = torch.randn(100, generator=torch.Generator().manual_seed(0))
    assert torch.equal(truncated(values, torch.float32), values)

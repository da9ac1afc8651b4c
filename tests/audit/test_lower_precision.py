"""Rounding to the next lower precision, against PyTorch's own conversions."""

from __future__ import annotations

import pytest
import torch

from robust_kbench.audit.lower_precision import lower


def test_float16_gets_the_mantissa_of_bfloat16() -> None:
    values = torch.randn(4096, generator=torch.Generator().manual_seed(1)).half()
    assert torch.equal(lower(values), values.bfloat16().half())


def test_bfloat16_gets_the_mantissa_of_e4m3() -> None:
    values = torch.rand(4096, generator=torch.Generator().manual_seed(2)).add(1.0).bfloat16()
    assert torch.equal(lower(values), values.to(torch.float8_e4m3fn).bfloat16())


def test_float64_gets_the_mantissa_of_float32() -> None:
    values = torch.randn(4096, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    assert torch.equal(lower(values), values.float().double())


def test_float32_keeps_ten_bits_and_ties_go_to_even() -> None:
    one, step = 1.0, 2.0**-10
    values = torch.tensor([one + step, one + step / 2, one + 1.5 * step, one + 0.51 * step])
    assert lower(values).tolist() == [one + step, one, one + 2 * step, one + step]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_range_is_kept_and_nothing_finite_appears_or_vanishes(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    values = torch.tensor([0.0, float("inf"), float("-inf"), float("nan"), info.smallest_normal, 2.0**15], dtype=dtype)
    assert torch.equal(lower(values).nan_to_num(nan=7.0), values.nan_to_num(nan=7.0))

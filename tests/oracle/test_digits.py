from __future__ import annotations

import pytest
import torch

from robust_kbench.oracle.digits import rounded

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def _values(dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(4096, generator=torch.Generator().manual_seed(1)).to(dtype)


@pytest.mark.parametrize(("digits", "narrow"), [(8, torch.bfloat16), (11, torch.float16)], ids=str)
def test_so_many_digits_are_those_of_pytorchs_formats(digits: int, narrow: torch.dtype) -> None:
    values = _values(torch.float32).abs() + 0.01  # float16 is not subnormal here
    assert torch.equal(rounded(values, digits), values.to(narrow).float())


def test_four_digits_are_those_of_e4m3() -> None:
    values = _values(torch.float32).abs().clamp(0.1, 400.0)
    assert torch.equal(rounded(values, 4), values.to(torch.float8_e4m3fn).float())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_digits_are_the_value_itself(dtype: torch.dtype) -> None:
    assert torch.equal(rounded(_values(dtype), 53), _values(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_range_is_kept_and_nothing_finite_appears_or_vanishes(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    values = torch.tensor([0.0, float("inf"), float("-inf"), float("nan"), info.smallest_normal, 2.0**15], dtype=dtype)
    assert torch.equal(rounded(values, 4).nan_to_num(nan=7.0), values.nan_to_num(nan=7.0))

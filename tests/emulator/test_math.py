"""Mathematical functions against torch in double precision, within the errors that CUDA documents."""

from __future__ import annotations

import math

import pytest
import torch
from compiled import Compiled, assert_same
from conftest import needs_compiler

pytestmark = needs_compiler

# The function in double precision and the interval of its arguments.
FUNCTIONS = {
    "rsqrt": (torch.rsqrt, 1e-6, 1e6),
    "rcbrt": (lambda x: x.pow(-1 / 3), 1e-3, 1e3),
    "sinpi": (lambda x: torch.sin(math.pi * x), -0.5, 0.5),
    "cospi": (lambda x: torch.cos(math.pi * x), -0.4, 0.4),
    "erfinv": (torch.erfinv, -0.999, 0.999),
    "erfcx": (torch.special.erfcx, -2.0, 100.0),
    "normcdf": (torch.special.ndtr, -5.0, 5.0),
    "normcdfinv": (torch.special.ndtri, 1e-6, 1 - 1e-6),
    "cyl_bessel_i0": (torch.special.i0, -80.0, 80.0),
    "cyl_bessel_i1": (torch.special.i1, -80.0, 80.0),
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return Compiled("functions.cpp", tmp_path_factory.mktemp("functions"))


def interval(low: float, high: float, dtype: torch.dtype) -> torch.Tensor:
    return torch.linspace(low, high, 4001, dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_float_function_is_within_two_units_in_the_last_place(compiled: Compiled, name: str) -> None:
    exact, low, high = FUNCTIONS[name]
    x = interval(low, high, torch.float32)
    expected = exact(x.double()).float()
    assert (compiled(f"float_{name}", torch.float32, x).view(torch.int32) - expected.view(torch.int32)).abs().max() <= 2


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_double_function_agrees_with_torch(compiled: Compiled, name: str) -> None:
    exact, low, high = FUNCTIONS[name]
    x = interval(low, high, torch.float64)
    torch.testing.assert_close(compiled(f"double_{name}", torch.float64, x), exact(x), rtol=2e-13, atol=1e-15)


def test_the_inverse_of_erfc_undoes_it_far_out(compiled: Compiled) -> None:
    x = interval(-5.0, 26.0, torch.float64)
    inverse = compiled("double_erfcinv", torch.float64, torch.erfc(x))
    assert (torch.erfc(inverse) / torch.erfc(x) - 1).abs().max() < 2e-13


def test_the_ends_of_a_domain(compiled: Compiled) -> None:
    def value(name: str, x: float) -> float:
        return compiled(f"double_{name}", torch.float64, torch.tensor([x], dtype=torch.float64)).item()

    assert value("erfinv", 1.0) == math.inf
    assert value("erfinv", -1.0) == -math.inf
    assert math.isnan(value("erfinv", 1.5))
    assert value("erfcinv", 0.0) == math.inf
    assert value("erfcinv", 2.0) == -math.inf
    assert value("erfcinv", 5e-324) == pytest.approx(27.2130, abs=1e-3)
    assert value("normcdf", -38.0) == pytest.approx(2.885428351e-316, rel=1e-6)
    assert value("normcdf", math.inf) == 1.0
    assert value("erfcx", 1e10) == pytest.approx(1e-10 / math.sqrt(math.pi), rel=1e-15)
    assert value("cyl_bessel_i0", 800.0) == math.inf
    assert value("cyl_bessel_i1", -800.0) == -math.inf
    assert value("rsqrt", 0.0) == math.inf
    assert value("rsqrt", -0.0) == -math.inf


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_multiples_of_pi_are_exact(compiled: Compiled, dtype: torch.dtype) -> None:
    real = "float" if dtype == torch.float32 else "double"
    x = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, -0.5, -1.0, 1e6 + 0.5], dtype=dtype)
    assert compiled(f"{real}_sinpi", dtype, x).tolist() == [0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0]
    assert compiled(f"{real}_cospi", dtype, x).tolist() == [1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0]
    infinite = torch.tensor([math.inf, math.nan], dtype=dtype)
    assert compiled(f"{real}_sinpi", dtype, infinite).isnan().all()


def test_a_norm_does_not_overflow_on_the_way(compiled: Compiled) -> None:
    a, b, c = (torch.tensor([x * 1e200, x * 1e-200, x], dtype=torch.float64) for x in (2.0, 3.0, 6.0))
    expected = torch.tensor([7e200, 7e-200, 7.0], dtype=torch.float64)
    torch.testing.assert_close(compiled("double_norm3d", torch.float64, a, b, c), expected, rtol=1e-15, atol=0)
    torch.testing.assert_close(compiled("double_rnorm3d", torch.float64, a, b, c), 1 / expected, rtol=1e-15, atol=0)


def test_of_a_number_and_nan_the_number_is_the_extremum(compiled: Compiled) -> None:
    a, b = torch.tensor([1.0, math.nan, 3.0, math.nan]), torch.tensor([2.0, 2.0, math.nan, math.nan])
    assert_same(compiled("max_float", torch.float32, a, b), torch.tensor([2.0, 2.0, 3.0, math.nan]))
    assert_same(compiled("min_float", torch.float32, a, b), torch.tensor([1.0, 2.0, 3.0, math.nan]))


def test_beside_an_unsigned_integer_a_negative_one_is_large(compiled: Compiled) -> None:
    result = compiled(
        "min_int_unsigned", torch.uint32, torch.tensor([-1, 3], dtype=torch.int32), torch.tensor([7, 7]).int()
    )
    assert result.tolist() == [7, 3]


def test_approximations_keep_the_documented_relative_error_near_zero(compiled: Compiled) -> None:
    x = interval(-1.5, 1.5, torch.float32)
    for name, exact in {"fast_exp": torch.exp, "fast_tan": torch.tan}.items():
        expected = exact(x.double())
        error = (compiled(name, torch.float32, x).double() / expected - 1)[expected != 0].abs()
        assert error.max() < 2.0**-18, name
    tanh = compiled("fast_tanh", torch.float32, x).double()
    assert 2.0**-14 < (tanh - torch.tanh(x.double())).abs().max() < 2.0**-11


def test_approximations_keep_the_documented_absolute_error(compiled: Compiled) -> None:
    x = interval(-math.pi, math.pi, torch.float32)
    assert (compiled("fast_sin", torch.float32, x).double() - torch.sin(x.double())).abs().max() < 2.0**-20.9
    assert (compiled("fast_cos", torch.float32, x).double() - torch.cos(x.double())).abs().max() < 2.0**-20.9
    y = interval(0.5, 2.0, torch.float32)
    assert (compiled("fast_log", torch.float32, y).double() - torch.log(y.double())).abs().max() < 2.0**-21.4
    assert (compiled("fast_log2", torch.float32, y).double() - torch.log2(y.double())).abs().max() < 2.0**-22


def test_approximations_lose_precision_far_from_zero_as_on_the_device(compiled: Compiled) -> None:
    x = interval(60.0, 80.0, torch.float32)
    exponential = compiled("fast_exp", torch.float32, x).double()
    assert 2.0**-20 < (exponential / torch.exp(x.double()) - 1).abs().max() < 2.0**-17
    large = interval(9000.0, 9100.0, torch.float32)
    sine = compiled("fast_sin", torch.float32, large).double()
    assert 2.0**-14 < (sine - torch.sin(large.double())).abs().max() < 2.0**-9


def test_a_fast_quotient_by_a_huge_number_is_zero(compiled: Compiled) -> None:
    a = torch.tensor([2.0**127, 6.0, -1.0, math.inf, 2.0**100])
    b = torch.tensor([1.5 * 2.0**126, 3.0, -math.inf, 2.0**127, 2.0**126])
    assert_same(compiled("fast_divide", torch.float32, a, b), torch.tensor([0.0, 2.0, 0.0, math.nan, 2.0**-26]))


def test_a_power_of_a_negative_number_is_no_number(compiled: Compiled) -> None:
    result = compiled("fast_pow", torch.float32, torch.tensor([-2.0, 2.0, 0.0]), torch.tensor([2.0, 10.0, 2.0]))
    assert_same(result, torch.tensor([math.nan, 1024.0, 0.0]))


def test_saturation_takes_nan_to_zero(compiled: Compiled) -> None:
    x = torch.tensor([-1.0, 0.25, 2.0, math.nan, math.inf])
    assert compiled("saturate", torch.float32, x).tolist() == [0.0, 0.25, 1.0, 0.0, 1.0]

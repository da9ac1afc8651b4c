"""Arithmetic and conversions with a given rounding against exact fractions."""

from __future__ import annotations

import itertools
import math
import random
import struct
from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
from compiled import DOUBLE, ROUNDINGS, SINGLE, Compiled, Format, assert_same
from conftest import needs_compiler

pytestmark = needs_compiler

REALS: dict[str, tuple[torch.dtype, Format]] = {"f": (torch.float32, SINGLE), "d": (torch.float64, DOUBLE)}
Exact = Callable[..., Fraction]
TWO_OPERANDS: dict[str, Exact] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return Compiled("arithmetic.cpp", tmp_path_factory.mktemp("arithmetic"))


def reals(kind: str, size: int, seed: int) -> torch.Tensor:
    """Numbers of every size; one in three is small enough for denormal results."""
    draw = random.Random(seed)
    width = {"f": 60, "d": 500}[kind]
    values = [
        math.ldexp(draw.uniform(-1, 1), draw.choice([0, draw.randint(-width, width), -2 * width])) for _ in range(size)
    ]
    tensor = torch.tensor(values, dtype=REALS[kind][0])
    return torch.where(tensor == 0, torch.ones((), dtype=tensor.dtype), tensor)


def rounded(exact: Exact, form: Format, rounding: str, *operands: torch.Tensor) -> list[float]:
    rows = zip(*(operand.tolist() for operand in operands), strict=True)
    return [form.rounded(exact(*map(Fraction, row)), rounding) for row in rows]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("operation", TWO_OPERANDS)
@pytest.mark.parametrize("kind", REALS)
def test_an_operation_rounds_as_its_name_says(compiled: Compiled, kind: str, operation: str, rounding: str) -> None:
    dtype, form = REALS[kind]
    a, b = reals(kind, 800, 1), reals(kind, 800, 2)
    result = compiled(f"{kind}{operation}_{rounding}", dtype, a, b)
    assert result.tolist() == rounded(TWO_OPERANDS[operation], form, rounding, a, b)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(("function", "kind"), [("fmaf", "f"), ("fma", "d")])
def test_a_fused_multiply_add_rounds_as_its_name_says(
    compiled: Compiled, function: str, kind: str, rounding: str
) -> None:
    dtype, form = REALS[kind]
    a, b, c = (reals(kind, 800, seed) for seed in (3, 4, 5))
    result = compiled(f"{function}_{rounding}", dtype, a, b, c)
    assert result.tolist() == rounded(lambda x, y, z: x * y + z, form, rounding, a, b, c)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_a_reciprocal_rounds_as_its_name_says(compiled: Compiled, rounding: str) -> None:
    a = reals("f", 800, 6)
    result = compiled(f"frcp_{rounding}", torch.float32, a)
    assert result.tolist() == rounded(lambda x: 1 / x, SINGLE, rounding, a)


@pytest.mark.parametrize("kind", REALS)
def test_a_square_root_lies_between_its_roundings_down_and_up(compiled: Compiled, kind: str) -> None:
    dtype, _ = REALS[kind]
    a = reals(kind, 800, 7).abs()
    down, up = (compiled(f"{kind}sqrt_{way}", dtype, a) for way in ("rd", "ru"))
    assert torch.equal(compiled(f"{kind}sqrt_rz", dtype, a), down)
    for value, low, high in zip(a.tolist(), down.tolist(), up.tolist(), strict=True):
        assert Fraction(low) ** 2 <= Fraction(value) <= Fraction(high) ** 2
    assert torch.equal((down == up) | (down.nextafter(up) == up), torch.ones(len(a), dtype=torch.bool))


def test_the_reciprocal_root_is_the_nearest_float(compiled: Compiled) -> None:
    a = reals("f", 800, 8).abs()
    for value, root in zip(a.tolist(), compiled("frsqrt_rn", torch.float32, a).tolist(), strict=True):
        unit = Fraction(2) ** (math.frexp(root)[1] - 24)
        lower, upper = Fraction(root) - unit / 2, Fraction(root) + unit / 2
        assert lower**2 * Fraction(value) <= 1 <= upper**2 * Fraction(value)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_a_double_becomes_a_float_in_every_direction(compiled: Compiled, rounding: str) -> None:
    values = reals("d", 800, 9)
    expected = rounded(lambda x: x, SINGLE, rounding, values)
    assert compiled(f"double2float_{rounding}", torch.float32, values).tolist() == expected


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(
    ("name", "integer", "real", "bits"),
    [
        ("int2float", torch.int32, "f", 31),
        ("ll2float", torch.int64, "f", 63),
        ("ll2double", torch.int64, "d", 63),
    ],
)
def test_an_integer_becomes_a_real_in_every_direction(
    compiled: Compiled, rounding: str, name: str, integer: torch.dtype, real: str, bits: int
) -> None:
    draw = random.Random(10)
    values = torch.tensor([draw.randrange(-(1 << bits), 1 << bits) for _ in range(500)], dtype=integer)
    dtype, form = REALS[real]
    assert compiled(f"{name}_{rounding}", dtype, values).tolist() == rounded(lambda x: x, form, rounding, values)


LIMITS = {
    "int": (torch.int32, -(1 << 31), (1 << 31) - 1),
    "uint": (torch.uint32, 0, (1 << 32) - 1),
    "ll": (torch.int64, -(1 << 63), (1 << 63) - 1),
    "ull": (torch.uint64, 0, (1 << 64) - 1),
}


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(
    ("source", "integer"), [("float", "int"), ("float", "uint"), ("float", "ll"), ("float", "ull"), ("double", "int")]
)
def test_a_real_becomes_the_nearest_integer_there_is(
    compiled: Compiled, rounding: str, source: str, integer: str
) -> None:
    dtype, low, high = LIMITS[integer]
    values = [2.5, 3.5, -2.5, -0.5, 0.5, 0.0, -1.0, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, 2.0**64, 1e30, -1e30]
    result = compiled(f"{source}2{integer}_{rounding}", dtype, torch.tensor(values, dtype=REALS[source[0]][0]))
    assert result.tolist() == [min(max(ROUNDINGS[rounding](Fraction(value)), low), high) for value in values]
    special = torch.tensor([math.inf, -math.inf], dtype=REALS[source[0]][0])
    assert compiled(f"{source}2{integer}_{rounding}", dtype, special).tolist() == [high, low]


def test_nan_becomes_0_or_a_single_high_bit(compiled: Compiled) -> None:
    for source, integer in itertools.product(("float", "double"), ("int", "ll")):
        dtype, low, _ = LIMITS[integer]
        result = compiled(f"{source}2{integer}_rz", dtype, torch.tensor([math.nan], dtype=REALS[source[0]][0]))
        assert result.item() == (0 if (source, integer) == ("float", "int") else low)


def test_arithmetic_with_a_rounding_in_its_name_is_not_contracted(compiled: Compiled) -> None:
    a = torch.tensor([1 + 2.0**-12])
    c = -(a * a)  # the product as it is rounded, so that only a fused multiply-add sees a rest
    assert compiled("contracted", torch.float32, a, a, c).item() in (0.0, 2.0**-24)
    assert compiled("product_and_sum", torch.float32, a, a, c).item() == 0.0
    assert compiled("sum_of_product", torch.float32, a, a, c).item() == 0.0


def test_the_words_of_a_double_come_apart_and_together(compiled: Compiled) -> None:
    values = torch.tensor([math.pi, -0.0, -1e300], dtype=torch.float64)
    high, low = compiled("high_word", torch.int32, values), compiled("low_word", torch.int32, values)
    assert [struct.pack("<ii", x, y) for x, y in zip(low.tolist(), high.tolist(), strict=True)] == [
        struct.pack("<d", value) for value in values.tolist()
    ]
    assert_same(compiled("joined", torch.float64, high, low), values)


def test_bits_of_a_float_are_reinterpreted(compiled: Compiled) -> None:
    values = torch.tensor([1.0, -0.0, math.inf])
    bits = compiled("float_bits", torch.int32, values)
    assert bits.tolist() == [0x3F800000, -(1 << 31), 0x7F800000]
    assert_same(compiled("float_of_bits", torch.float32, bits), values)

"""Half precision and bfloat16 against torch and against exact arithmetic."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
from fractions import Fraction

import pytest
import torch
from compiled import BFLOAT16, FLAGS, FOLDER, HALF, ROUNDINGS, Compiled, Format, assert_same
from conftest import needs_compiler

pytestmark = needs_compiler

TYPES = {"half": (torch.float16, HALF), "bfloat16": (torch.bfloat16, BFLOAT16)}
SPECIAL = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return Compiled("half.cpp", tmp_path_factory.mktemp("half"))


@pytest.fixture(params=list(TYPES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def every_number(dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(dtype)


def sample(dtype: torch.dtype, size: int, seed: int) -> torch.Tensor:
    """Random bit patterns, so that every exponent is as frequent as any other; half of them near 1."""
    generator = torch.Generator().manual_seed(seed)
    patterns = torch.randint(-(1 << 15), 1 << 15, (size,), generator=generator).to(torch.int16).view(dtype)
    return torch.where(torch.arange(size) % 2 == 0, patterns, torch.randn(size, generator=generator).to(dtype))


def test_every_number_converts_to_float_as_in_torch(compiled: Compiled, kind: str) -> None:
    numbers = every_number(TYPES[kind][0])
    assert_same(compiled(f"{kind}_to_float", torch.float32, numbers), numbers.float())


def test_floats_around_every_number_and_every_midpoint_round_as_in_torch(compiled: Compiled, kind: str) -> None:
    dtype, _ = TYPES[kind]
    numbers = every_number(dtype).float()
    middles = (numbers[1:].double() + numbers[:-1].double()).float().div(2)
    around = torch.cat([numbers, middles])
    values = torch.cat([around, around.nextafter(torch.tensor(math.inf)), around.nextafter(torch.tensor(-math.inf))])
    assert_same(compiled(f"{kind}_from_float_rn", dtype, values), values.to(dtype))


def test_a_nan_becomes_the_canonical_one(compiled: Compiled, kind: str) -> None:
    result = compiled(f"{kind}_from_float_rn", TYPES[kind][0], torch.tensor([math.nan, -math.nan]))
    assert result.view(torch.int16).tolist() == [0x7FFF, 0x7FFF]


def test_a_double_is_rounded_once(compiled: Compiled, kind: str) -> None:
    dtype, form = TYPES[kind]
    middle = 1 + 2.0**-form.digits
    values = torch.tensor([middle, middle + 2.0**-50, -middle - 2.0**-50, 1e-300, 1e300], dtype=torch.float64)
    step = 2 * 2.0**-form.digits
    expected = torch.tensor([1.0, 1 + step, -1 - step, 0.0, math.inf], dtype=dtype)
    assert_same(compiled(f"{kind}_from_double", dtype, values), expected)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_floats_round_in_every_direction(compiled: Compiled, kind: str, rounding: str) -> None:
    dtype, form = TYPES[kind]
    bits = torch.randint(-(1 << 31), 1 << 31, (2000,), generator=torch.Generator().manual_seed(1))
    values = torch.cat([bits.to(torch.int32).view(torch.float32), torch.randn(2000) * 1e-5, torch.randn(2000)])
    values = values[values.isfinite()]
    expected = [form.rounded(Fraction(value), rounding) for value in values.tolist()]
    result = compiled(f"{kind}_from_float_{rounding}", dtype, values).float()
    assert torch.equal(result, torch.tensor(expected))
    assert torch.equal(result.signbit(), values.signbit())


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_integers_are_rounded_once(compiled: Compiled, kind: str, rounding: str) -> None:
    dtype, form = TYPES[kind]
    draw = random.Random(2)
    values = [draw.randrange(-(1 << bits), 1 << bits) for bits in range(1, 64) for _ in range(20)]
    values += [(1 << 62) + (1 << 54) + 1, -(1 << 62) - (1 << 54) - 1, (1 << 62) + (1 << 54), 1 << 55]
    expected = torch.tensor([form.rounded(Fraction(value), rounding) for value in values])
    result = compiled(f"{kind}_from_ll_{rounding}", dtype, torch.tensor(values))
    assert torch.equal(result.float(), expected)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(
    ("word", "dtype", "low", "high"),
    [
        ("int", torch.int32, -(1 << 31), (1 << 31) - 1),
        ("ushort", torch.uint16, 0, (1 << 16) - 1),
        ("ull", torch.uint64, 0, (1 << 64) - 1),
    ],
)
def test_integers_saturate(
    compiled: Compiled, kind: str, rounding: str, word: str, dtype: torch.dtype, low: int, high: int
) -> None:
    values = torch.cat([sample(TYPES[kind][0], 1000, 3), torch.tensor([2.5, -2.5, 0.5], dtype=TYPES[kind][0])])
    values = values[~values.isnan()]
    result = compiled(f"{kind}_to_{word}_{rounding}", dtype, values).tolist()
    for value, integer in zip(values.tolist(), result, strict=True):
        whole = math.copysign(high + 1, value) if math.isinf(value) else ROUNDINGS[rounding](Fraction(value))
        assert integer == min(max(whole, low), high), value


def test_nan_becomes_0_or_a_single_high_bit(compiled: Compiled, kind: str) -> None:
    nan = torch.tensor([math.nan], dtype=TYPES[kind][0])
    assert compiled(f"{kind}_to_int_rn", torch.int32, nan).item() == 0
    assert compiled(f"{kind}_to_ushort_rz", torch.uint16, nan).item() == 0
    assert compiled(f"{kind}_to_ull_rz", torch.uint64, nan).item() == 1 << 63


def exact(operation: str, a: float, b: float) -> Fraction:
    x, y = Fraction(a), Fraction(b)
    return {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y if y else Fraction(0)}[operation]


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
def test_an_operation_is_rounded_once(compiled: Compiled, kind: str, operation: str) -> None:
    dtype, form = TYPES[kind]
    a, b = sample(dtype, 8000, 4), sample(dtype, 8000, 5)
    usable = a.isfinite() & b.isfinite() & (b != 0)
    a, b = a[usable], b[usable]
    expected = [
        form.rounded(exact(operation, x, y), "rn") for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]  # fmt: skip
    assert torch.equal(compiled(f"{kind}_{operation}", dtype, a, b).float(), torch.tensor(expected))


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
def test_special_operands_give_what_ieee_says(compiled: Compiled, kind: str, operation: str) -> None:
    dtype, _ = TYPES[kind]
    pairs = torch.tensor(list(itertools.product(SPECIAL, SPECIAL)), dtype=dtype)
    a, b = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    expected = getattr(torch, operation)(a.float(), b.float()).to(dtype)
    assert_same(compiled(f"{kind}_{operation}", dtype, a, b), expected)


def test_a_fused_multiply_add_is_rounded_once(compiled: Compiled, kind: str) -> None:
    dtype, form = TYPES[kind]
    a, b, c = (sample(dtype, 8000, seed) for seed in (6, 7, 8))
    usable = a.isfinite() & b.isfinite() & c.isfinite()
    a, b, c = a[usable], b[usable], c[usable]
    exact = (
        Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    )
    expected = torch.tensor([form.rounded(value, "rn") for value in exact])
    assert torch.equal(compiled(f"{kind}_fma", dtype, a, b, c).float(), expected)


def test_the_tiniest_addend_breaks_a_tie(compiled: Compiled, kind: str) -> None:
    dtype, form = TYPES[kind]
    last = 2.0 ** (1 - form.digits)
    factor = torch.tensor([1 + last], dtype=dtype)  # its square lies 2 units and a little above 1
    half_up = torch.tensor([1.5], dtype=dtype)  # 1.5 * (1 + last) lies in the middle of two numbers
    tiny = torch.tensor([2.0**form.lowest], dtype=dtype)
    middle = Fraction(3, 2) * (1 + Fraction(last))
    for sign in (1, -1):
        expected = form.rounded(middle + sign * Fraction(2) ** form.lowest, "rn")
        assert compiled(f"{kind}_fma", dtype, factor, half_up, sign * tiny).item() == expected


def test_saturation_and_rectification_treat_nan_differently(compiled: Compiled, kind: str) -> None:
    dtype, _ = TYPES[kind]
    a = torch.tensor([-2.0, 0.25, 3.0, math.nan], dtype=dtype)
    one, zero = torch.ones(4, dtype=dtype), torch.zeros(4, dtype=dtype)
    assert compiled(f"{kind}_fma_sat", dtype, a, one, zero).tolist() == [0.0, 0.25, 1.0, 0.0]
    assert_same(compiled(f"{kind}_fma_relu", dtype, a, one, zero), torch.tensor([0, 0.25, 3, math.nan], dtype=dtype))


def test_of_a_number_and_nan_the_number_is_the_extremum(compiled: Compiled, kind: str) -> None:
    dtype, _ = TYPES[kind]
    a = torch.tensor([1.0, math.nan, 1.0, -0.0, 0.0, math.nan], dtype=dtype)
    b = torch.tensor([2.0, 2.0, math.nan, 0.0, -0.0, math.nan], dtype=dtype)
    largest = torch.tensor([2.0, 2.0, 1.0, 0.0, 0.0, math.nan], dtype=dtype)
    smallest = torch.tensor([1.0, 2.0, 1.0, -0.0, -0.0, math.nan], dtype=dtype)
    assert_same(compiled(f"{kind}_max", dtype, a, b), largest)
    assert_same(compiled(f"{kind}_min", dtype, a, b), smallest)
    assert compiled(f"{kind}_max_nan", dtype, a, b).isnan().tolist() == [False, True, True, False, False, True]
    assert compiled(f"{kind}_min_nan", dtype, a, b).isnan().tolist() == [False, True, True, False, False, True]


def test_comparisons_know_what_is_unordered(compiled: Compiled, kind: str) -> None:
    dtype, _ = TYPES[kind]
    pairs = torch.tensor(list(itertools.product(SPECIAL, SPECIAL)), dtype=dtype)
    a, b = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    unordered = a.isnan() | b.isnan()
    expected = {"eq": a == b, "neu": a != b, "ne": (a != b) & ~unordered, "lt": a < b, "gtu": (a > b) | unordered}
    for name, answer in expected.items():
        assert torch.equal(compiled(f"{kind}_{name}", torch.bool, a, b), answer), name


def pair(dtype: torch.dtype, low: float, high: float) -> torch.Tensor:
    return torch.tensor([low, high], dtype=dtype).view(torch.int32)


def test_the_low_lane_of_a_pair_comes_first(compiled: Compiled, kind: str) -> None:
    dtype, _ = TYPES[kind]
    a, b = pair(dtype, 1.0, 5.0), pair(dtype, 2.0, 3.0)
    assert compiled(f"{kind}_pair_mask", torch.int32, a, b).item() == 0x0000FFFF
    assert compiled(f"{kind}_pair_ones", torch.int32, a, b).view(dtype).tolist() == [1.0, 0.0]
    assert not compiled(f"{kind}_pair_all", torch.bool, a, b).item()
    assert compiled(f"{kind}_swapped", torch.int32, a).view(dtype).tolist() == [5.0, 1.0]
    assert compiled(f"{kind}_pair_fma", torch.int32, a, b, b).view(dtype).tolist() == [4.0, 18.0]


def test_a_pair_multiplies_as_a_complex_number(compiled: Compiled, kind: str) -> None:
    dtype, _ = TYPES[kind]
    result = compiled(f"{kind}_complex", torch.int32, pair(dtype, 1, 2), pair(dtype, 3, 4), pair(dtype, 10, 20))
    assert result.view(dtype).tolist() == [5.0, 30.0]  # (1 + 2i)(3 + 4i) + 10 + 20i


@pytest.mark.parametrize("function", ["exp", "log", "rsqrt", "tanh", "sin"])
def test_functions_of_every_number_are_within_one_unit_in_the_last_place(
    compiled: Compiled, kind: str, function: str
) -> None:
    dtype, _ = TYPES[kind]
    numbers = every_number(dtype)
    expected = getattr(torch, function)(numbers.double()).to(dtype)
    result = compiled(f"{kind}_{function}", dtype, numbers)
    assert torch.equal(result.isnan(), expected.isnan())
    steps = (result.view(torch.int16).int() - expected.view(torch.int16).int())[~expected.isnan()]
    assert steps.abs().max() <= 1


def test_integral_values_round_to_even(compiled: Compiled, kind: str) -> None:
    dtype, _ = TYPES[kind]
    numbers = every_number(dtype)
    assert_same(compiled(f"{kind}_rint", dtype, numbers), numbers.round())


FEATURES = ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_OPERATORS", "BFLOAT16_CONVERSIONS")


@pytest.mark.parametrize("switched_off", [(), FEATURES])
def test_expressions_resolve_as_with_nvcc(switched_off: tuple[str, ...]) -> None:
    macros = [f"-D__CUDA_NO_{name}__" for name in switched_off]
    subprocess.run(["g++", *FLAGS, *macros, "-fsyntax-only", str(FOLDER / "expressions.cpp")], check=True)


def test_the_formats_are_those_of_torch() -> None:
    for dtype, form in TYPES.values():
        assert isinstance(form, Format)
        assert torch.finfo(dtype).max == float(form.largest)

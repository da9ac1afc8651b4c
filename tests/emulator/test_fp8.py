"""8-bit floating-point numbers against torch."""

from __future__ import annotations

import math

import pytest
import torch
from compiled import Compiled, assert_same
from conftest import needs_compiler

pytestmark = needs_compiler

TYPES = {"e4m3": (torch.float8_e4m3fn, 448.0), "e5m2": (torch.float8_e5m2, 57344.0)}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return Compiled("eight_bits.cpp", tmp_path_factory.mktemp("eight_bits"))


@pytest.fixture(params=list(TYPES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def every_number(dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(256).to(torch.uint8).view(dtype)


def test_every_number_converts_to_half_as_in_torch(compiled: Compiled, kind: str) -> None:
    numbers = every_number(TYPES[kind][0])
    assert_same(compiled(f"{kind}_to_half", torch.float16, numbers).float(), numbers.float())


def test_numbers_midpoints_and_their_neighbours_round_as_in_torch(compiled: Compiled, kind: str) -> None:
    dtype, largest = TYPES[kind]
    numbers = every_number(dtype).float()
    numbers = numbers[numbers.abs() <= largest]
    middles = (numbers[1:] + numbers[:-1]) / 2
    around = torch.cat([numbers, middles])
    values = torch.cat([around, around.nextafter(torch.tensor(math.inf)), around.nextafter(torch.tensor(-math.inf))])
    values = values.clamp(-largest, largest)
    assert_same(compiled(f"{kind}_saturated", dtype, values).float(), values.to(dtype).float())


def test_a_number_out_of_range_saturates_or_overflows(compiled: Compiled, kind: str) -> None:
    dtype, largest = TYPES[kind]
    values = torch.tensor([1e6, -1e6, math.inf, -math.inf])
    assert compiled(f"{kind}_saturated", dtype, values).float().tolist() == [largest, -largest] * 2
    unsaturated = compiled(f"{kind}_unsaturated", dtype, values).float()
    assert unsaturated.isnan().all() if kind == "e4m3" else unsaturated.tolist() == [math.inf, -math.inf] * 2
    assert compiled(f"{kind}_saturated", dtype, torch.tensor([math.nan])).float().isnan().all()


def test_a_double_is_rounded_once(compiled: Compiled, kind: str) -> None:
    dtype, _ = TYPES[kind]
    digits = {"e4m3": 3, "e5m2": 2}[kind]
    middle = 1 + 2.0 ** -(digits + 1)
    values = torch.tensor([middle, middle + 2.0**-40], dtype=torch.float64)
    assert compiled(f"{kind}_of_double", dtype, values).float().tolist() == [1.0, 1 + 2.0**-digits]


def test_the_first_of_several_numbers_lies_lowest(compiled: Compiled) -> None:
    four = torch.tensor([1.0, 2.0, -3.0, 1000.0]).view(torch.complex128)  # 16 bytes an element
    assert compiled("bits_of_four_numbers", torch.uint32, four).tolist() == [0x7EC44038]
    pair = torch.tensor([1.0, 2.0], dtype=torch.float16).view(torch.int32)
    assert compiled("of_half_pair", torch.uint16, pair).item() == 0x4038


def test_integers_convert(compiled: Compiled) -> None:
    values = torch.tensor([0, 3, -7, 1 << 30], dtype=torch.int32)
    assert compiled("of_integer", torch.float32, values).tolist() == [0.0, 3.0, -7.0, 57344.0]

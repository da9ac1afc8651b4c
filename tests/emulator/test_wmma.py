"""Tensor core fragments: products of every shape, type and layout, and where lanes hold what."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from conftest import needs_compiler
from cuda_program import Array, Program, zeros

pytestmark = needs_compiler

SHAPES = ("16x16x16", "32x8x16", "8x32x16")


def bfloat16_bits(numbers: Array) -> Array:
    return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def same(numbers: Array) -> Array:
    return numbers


# Name, type of the operands' memory, type of the result, range of the numbers, encoding.
Kind = tuple[str, type, type, tuple[int, int], Callable[[Array], Array]]
KINDS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    (("half_float", np.float16, np.float32, (-8, 8), same), SHAPES),
    (("half_half", np.float16, np.float16, (-4, 4), same), SHAPES),
    (("bfloat16", np.uint16, np.float32, (-8, 8), bfloat16_bits), SHAPES),
    (("int8", np.int8, np.int32, (-128, 128), same), SHAPES),
    (("uint8", np.uint8, np.int32, (0, 256), same), SHAPES),
    (("tf32", np.float32, np.float32, (-8, 8), same), ("16x16x8",)),
    (("double", np.float64, np.float64, (-8, 8), same), ("8x8x4",)),
)
CASES = [pytest.param(kind, shape, id=f"{kind[0]}-{shape}") for kind, shapes in KINDS for shape in shapes]


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "checked"])
def wmma(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program("wmma", tmp_path_factory.mktemp("wmma"), checked=request.param)


@pytest.mark.rotating
@pytest.mark.parametrize(("kind", "shape"), CASES)
def test_products_are_exact_in_every_layout(wmma: Program, kind: Kind, shape: str) -> None:
    name, memory, result, (low, high), encode = kind
    m, n, k = map(int, shape.split("x"))
    generator = np.random.default_rng(5)
    a, b = generator.integers(low, high, m * k), generator.integers(low, high, k * n)
    d = zeros(4 * m * n, result)
    found = wmma(f"run_{name}_{shape}", encode(a).astype(memory), encode(b).astype(memory), d, written=(2,))
    assert found == []
    by_row, by_column = d.reshape(2, 2, m * n)
    for i, right in enumerate((b.reshape(k, n), b.reshape(n, k).T)):
        assert by_row[i].tolist() == (2 * (a.reshape(m, k) @ right + 1)).ravel().tolist()
        assert by_column[i].tolist() == (2 * (a.reshape(k, m).T @ right + 1)).T.ravel().tolist()


# What lanes 0, 1 and 5 hold, as an H200 prints it.
SEEN = {
    "16x16": (
        [0, 1, 128, 129, 8, 9, 136, 137],
        [2, 3, 130, 131, 10, 11, 138, 139],
        [18, 19, 146, 147, 26, 27, 154, 155],
    ),
    "32x8": (
        [0, 1, 64, 65, 128, 129, 192, 193],
        [2, 3, 66, 67, 130, 131, 194, 195],
        [10, 11, 74, 75, 138, 139, 202, 203],
    ),
    "8x32": (
        [0, 32, 8, 40, 16, 48, 24, 56],
        [64, 96, 72, 104, 80, 112, 88, 120],
        [65, 97, 73, 105, 81, 113, 89, 121],
    ),
}


@pytest.mark.parametrize("shape", SEEN)
def test_accumulators_lie_in_the_lanes_as_on_a_device(wmma: Program, shape: str) -> None:
    elements = zeros(256, np.float32)
    assert wmma(f"run_placement_{shape}", np.arange(256, dtype=np.float32), elements) == []
    lanes = elements.reshape(32, 8)
    assert [lanes[lane].tolist() for lane in (0, 1, 5)] == list(map(list, SEEN[shape]))
    assert sorted(elements) == list(range(256))


def test_tf32_keeps_ten_bits_and_rounds_ties_away_from_zero(wmma: Program) -> None:
    step = 2.0**-10
    x = np.array([1 + step / 2, -1 - step / 2, 1 + step / 2 - 2**-23, 1 + step, 0.0, np.inf, -np.inf, 3.0], np.float32)
    y = zeros(8, np.float32)
    assert wmma("run_rounding", x, y) == []
    assert y.tolist() == [1 + step, -1 - step, 1, 1 + step, 0, np.inf, -np.inf, 3]


def test_integer_sums_saturate_on_demand(wmma: Program) -> None:
    ones = np.ones(256, np.int8)
    d = zeros(256, np.int32)
    assert wmma("run_saturation", ones, ones, d) == []
    assert set(d) == {2**31 - 1}
    assert wmma("run_saturation", ones, -ones, d) == []
    assert set(d) == {2**31 - 1 - 16}


def test_a_stored_fragment_is_not_there_for_other_lanes_without_a_barrier(wmma: Program) -> None:
    if not wmma.checked:
        return
    found = wmma("run_unordered", zeros(32, np.float32))
    assert {finding["kind"] for finding in found} <= {"race_shared", "uninitialised_shared"}
    assert any(finding["kind"] == "race_shared" for finding in found)


def test_a_fragment_beyond_its_tensor_is_found_at_the_line_that_loads_it(wmma: Program) -> None:
    if not wmma.checked:
        return
    found = wmma("run_too_far", zeros(256, np.float32), zeros(256, np.float32))
    assert (found[0]["kind"], found[0]["place"]["line"]) == ("out_of_bounds_global", wmma.line("too far"))

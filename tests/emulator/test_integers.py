"""Integer intrinsics against Python's integers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compiled import Compiled
from conftest import needs_compiler

pytestmark = needs_compiler

INT, WORD, LONG, DOUBLE_WORD = torch.int32, torch.uint32, torch.int64, torch.uint64
BITS = {INT: 32, WORD: 32, LONG: 64, DOUBLE_WORD: 64}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return Compiled("integers.cpp", tmp_path_factory.mktemp("integers"))


def wrapped(value: int, dtype: torch.dtype) -> int:
    """`value` modulo 2**bits, in the range of the type."""
    value %= 1 << BITS[dtype]
    return value - (1 << BITS[dtype]) if dtype.is_signed and value >> (BITS[dtype] - 1) else value


def draw(dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Integers with bits set everywhere, few or many, and the ends of the range."""
    source = random.Random(seed)
    bits = BITS[dtype]
    values = [0, 1, -1, 1 << (bits - 1), (1 << (bits - 1)) - 1, 0x80, 0x8000, 0x80808080, 0x7F7F7F7F]
    values += [source.getrandbits(bits) for _ in range(300)]
    values += [source.getrandbits(bits) & source.getrandbits(bits) & source.getrandbits(bits) for _ in range(100)]
    source.shuffle(values)
    return torch.tensor([wrapped(value, dtype) for value in values], dtype=dtype)


def byte_perm(x: int, y: int, selector: int) -> int:
    source = (y << 32 | x).to_bytes(8, "little")
    return int.from_bytes([source[selector >> shift & 7] for shift in range(0, 16, 4)], "little")


def reverse(x: int, bits: int) -> int:
    return int(f"{x:0{bits}b}"[::-1], 2)


def lowest(x: int, bits: int) -> int:
    x %= 1 << bits
    return (x & -x).bit_length()


def low24(x: int, dtype: torch.dtype) -> int:
    x &= 0xFFFFFF
    return x - (1 << 24) if dtype.is_signed and x >> 23 else x


def lanes(word: int, bits: int, signed: bool) -> list[int]:
    parts = [word >> shift & ((1 << bits) - 1) for shift in range(0, 32, bits)]
    return [part - (1 << bits) if signed and part >> (bits - 1) else part for part in parts]


def dot(x: int, y: int, signed: bool) -> int:
    return sum(a * b for a, b in zip(lanes(x, 8, signed), lanes(y, 8, signed), strict=True))


def dot2(x: int, y: int, signed: bool, first: int) -> int:
    halves, octets = lanes(x, 16, signed), lanes(y, 8, signed)
    return halves[0] * octets[first] + halves[1] * octets[first + 1]


# Name, type of the result, types of the arguments, what Python says before the result wraps around.
CASES: list[tuple[str, torch.dtype, list[torch.dtype], Callable[..., int]]] = [
    ("popc", INT, [WORD], lambda a: a.bit_count()),
    ("popcll", INT, [DOUBLE_WORD], lambda a: a.bit_count()),
    ("clz", INT, [INT], lambda a: 32 - (a % (1 << 32)).bit_length()),
    ("clzll", INT, [LONG], lambda a: 64 - (a % (1 << 64)).bit_length()),
    ("ffs_", INT, [INT], lambda a: lowest(a, 32)),
    ("ffsll_", INT, [LONG], lambda a: lowest(a, 64)),
    ("brev", WORD, [WORD], lambda a: reverse(a, 32)),
    ("brevll", DOUBLE_WORD, [DOUBLE_WORD], lambda a: reverse(a, 64)),
    ("byte_perm", WORD, [WORD, WORD, WORD], byte_perm),
    ("mulhi", INT, [INT, INT], lambda a, b: a * b >> 32),
    ("umulhi", WORD, [WORD, WORD], lambda a, b: a * b >> 32),
    ("mul64hi", LONG, [LONG, LONG], lambda a, b: a * b >> 64),
    ("umul64hi", DOUBLE_WORD, [DOUBLE_WORD, DOUBLE_WORD], lambda a, b: a * b >> 64),
    ("mul24", INT, [INT, INT], lambda a, b: low24(a, INT) * low24(b, INT)),
    ("umul24", WORD, [WORD, WORD], lambda a, b: low24(a, WORD) * low24(b, WORD)),
    ("sad", WORD, [INT, INT, WORD], lambda a, b, c: abs(a - b) + c),
    ("usad", WORD, [WORD, WORD, WORD], lambda a, b, c: abs(a - b) + c),
    ("hadd", INT, [INT, INT], lambda a, b: a + b >> 1),
    ("rhadd", INT, [INT, INT], lambda a, b: a + b + 1 >> 1),
    ("uhadd", WORD, [WORD, WORD], lambda a, b: a + b >> 1),
    ("urhadd", WORD, [WORD, WORD], lambda a, b: a + b + 1 >> 1),
    ("dp4a_signed", INT, [INT, INT, INT], lambda a, b, c: dot(a, b, True) + c),
    ("dp4a_unsigned", WORD, [WORD, WORD, WORD], lambda a, b, c: dot(a, b, False) + c),
    ("dp2a_lo", INT, [INT, INT, INT], lambda a, b, c: dot2(a, b, True, 0) + c),
    ("dp2a_hi", WORD, [WORD, WORD, WORD], lambda a, b, c: dot2(a, b, False, 2) + c),
    ("vimax3_s32", INT, [INT, INT, INT], max),
    ("viaddmin_u32", WORD, [WORD, WORD, WORD], lambda a, b, c: min((a + b) % (1 << 32), c)),
]


@pytest.mark.parametrize(("name", "result", "arguments", "python"), CASES, ids=[case[0] for case in CASES])
def test_an_intrinsic_agrees_with_python(
    compiled: Compiled, name: str, result: torch.dtype, arguments: list[torch.dtype], python: Callable[..., int]
) -> None:
    tensors = [draw(dtype, seed) for seed, dtype in enumerate(arguments)]
    rows = zip(*(tensor.tolist() for tensor in tensors), strict=True)
    assert compiled(name, result, *tensors).tolist() == [wrapped(python(*row), result) for row in rows]


@pytest.mark.parametrize("name", ["funnelshift_l", "funnelshift_r", "funnelshift_lc", "funnelshift_rc"])
def test_a_funnel_shift_takes_a_window_of_64_bits(compiled: Compiled, name: str) -> None:
    low, high = draw(WORD, 1), draw(WORD, 2)
    shift = torch.arange(len(low)).remainder(70).to(WORD)
    result = compiled(name, WORD, low, high, shift).tolist()
    for x, y, by, answer in zip(low.tolist(), high.tolist(), shift.tolist(), result, strict=True):
        by = min(by, 32) if name.endswith("c") else by % 32
        window = (y << 32 | x) << by >> 32 if "_l" in name else (y << 32 | x) >> by
        assert answer == window % (1 << 32)


def test_the_nth_set_bit_is_counted_from_the_base(compiled: Compiled) -> None:
    def fns(mask: int, base: int, n: int) -> int:
        values = [torch.tensor([value], dtype=dtype) for value, dtype in ((mask, WORD), (base, WORD), (n, INT))]
        return int(compiled("fns", WORD, *values).item())

    assert fns(0b10110, 0, 1) == 1
    assert fns(0b10110, 2, 2) == 4
    assert fns(0b10110, 2, 3) == 0xFFFFFFFF
    assert fns(0b10110, 3, -1) == 2
    assert fns(0b10110, 4, -3) == 1
    assert fns(0b10110, 2, 0) == 2
    assert fns(0b10110, 3, 0) == 0xFFFFFFFF


def clamped(value: int, bits: int, signed: bool) -> int:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return min(max(value, low), high)


# Whether the lanes are signed, and the operation on two lanes of so many bits.
PACKED: dict[str, tuple[bool, Callable[[int, int, int], int]]] = {
    "vadd": (False, lambda a, b, bits: a + b),
    "vaddss": (True, lambda a, b, bits: clamped(a + b, bits, True)),
    "vaddus": (False, lambda a, b, bits: clamped(a + b, bits, False)),
    "vsub": (False, lambda a, b, bits: a - b),
    "vsubss": (True, lambda a, b, bits: clamped(a - b, bits, True)),
    "vsubus": (False, lambda a, b, bits: clamped(a - b, bits, False)),
    "vavgs": (True, lambda a, b, bits: a + b + (a + b >= 0) >> 1),
    "vavgu": (False, lambda a, b, bits: a + b + 1 >> 1),
    "vhaddu": (False, lambda a, b, bits: a + b >> 1),
    "vmaxs": (True, lambda a, b, bits: max(a, b)),
    "vmaxu": (False, lambda a, b, bits: max(a, b)),
    "vmins": (True, lambda a, b, bits: min(a, b)),
    "vminu": (False, lambda a, b, bits: min(a, b)),
    "vabsdiffs": (True, lambda a, b, bits: abs(a - b)),
    "vabsdiffu": (False, lambda a, b, bits: abs(a - b)),
    "vcmpeq": (False, lambda a, b, bits: -(a == b)),
    "vcmpgts": (True, lambda a, b, bits: -(a > b)),
    "vcmpleu": (False, lambda a, b, bits: -(a <= b)),
    "vsetne": (False, lambda a, b, bits: a != b),
    "vsetlts": (True, lambda a, b, bits: a < b),
    "vsetgeu": (False, lambda a, b, bits: a >= b),
}


def joined(parts: list[int], bits: int) -> int:
    return sum((part & ((1 << bits) - 1)) << (bits * i) for i, part in enumerate(parts))


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", PACKED)
def test_a_packed_operation_works_lane_by_lane(compiled: Compiled, name: str, count: int) -> None:
    signed, operation = PACKED[name]
    bits = 32 // count
    a, b = draw(WORD, 3), draw(WORD, 4)
    expected = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        pairs = zip(lanes(x, bits, signed), lanes(y, bits, signed), strict=True)
        expected.append(joined([operation(*pair, bits) for pair in pairs], bits))
    assert compiled(f"{name}{count}", WORD, a, b).tolist() == expected


@pytest.mark.parametrize("count", [2, 4])
def test_packed_operations_of_one_word(compiled: Compiled, count: int) -> None:
    bits = 32 // count
    a = draw(WORD, 5)
    operations: dict[str, Callable[[int], Any]] = {
        "vabs": abs,
        "vabsss": lambda x: clamped(abs(x), bits, True),
        "vneg": lambda x: -x,
        "vnegss": lambda x: clamped(-x, bits, True),
    }
    for name, operation in operations.items():
        expected = [joined([operation(part) for part in lanes(x, bits, True)], bits) for x in a.tolist()]
        assert compiled(f"{name}{count}", WORD, a).tolist() == expected, name


@pytest.mark.parametrize("count", [2, 4])
def test_distances_are_summed_over_the_lanes(compiled: Compiled, count: int) -> None:
    a, b = draw(WORD, 6), draw(WORD, 7)
    for name, signed in {"vsads": True, "vsadu": False}.items():
        expected = []
        for x, y in zip(a.tolist(), b.tolist(), strict=True):
            pairs = zip(lanes(x, 32 // count, signed), lanes(y, 32 // count, signed), strict=True)
            expected.append(sum(abs(p - q) for p, q in pairs))
        assert compiled(f"{name}{count}", WORD, a, b).tolist() == expected, name


def test_a_sum_wraps_before_it_is_compared(compiled: Compiled) -> None:
    words = [torch.tensor([value], dtype=WORD) for value in (0x7FFF0001, 0x0001FFF0, 0xFFFE0005)]
    assert compiled("viaddmax_s16x2_relu", WORD, *words).item() == 0x00000005


def test_the_origin_of_a_maximum_is_told_for_each_lane(compiled: Compiled) -> None:
    a, b = torch.tensor([0x0005FFFF], dtype=WORD), torch.tensor([0x00050000], dtype=WORD)
    assert compiled("vibmax_s16x2", WORD, a, b).item() == 0b10

"""half, bfloat16, their vectors, and the 8-bit formats."""

from __future__ import annotations

from fractions import Fraction

import torch
from description import given, kernel, result, uniform
from torch import Tensor

from references.rounding import round_all

HALF = torch.float16
BF16 = torch.bfloat16
# One unit in the last place, relative to the smallest number of its binade.
HALF_ULP = 2.0**-10
BF16_ULP = 2.0**-7


@kernel(
    "half/scalar_arithmetic",
    inputs=[uniform(131, dtype=HALF), uniform(131, low=0.25, dtype=HALF)],
    outputs=[result(131, 12, dtype=HALF)],
    scalars=[131],
    because="each operation is correctly rounded",
)
def scalar_arithmetic(x: Tensor, y: Tensor) -> Tensor:
    chained = ((x + y) - 0.5) * y
    columns = [
        x + y,
        x - y,
        x * y,
        x / y,
        round_all(lambda a, b: a * b + a, x, y, dtype=HALF),
        -x,
        x.abs(),
        x + y * 2,
        (x + y).clamp(0, 1),
        torch.maximum(x, y),
        torch.minimum(x, y),
        -chained,
    ]
    return torch.stack(columns, 1)


@kernel(
    "half/half2_arithmetic",
    inputs=[uniform(175, dtype=HALF), uniform(175, dtype=HALF)],
    outputs=[result(175, dtype=HALF), result(175, dtype=HALF)],
    scalars=[175],
    because="each operation is correctly rounded",
)
def half2_arithmetic(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    fused = round_all(lambda a, b, c: a * b + c, x, y, x - y, dtype=HALF)
    sums = x + y
    swapped = sums.clone()
    swapped[1:174:2] *= x[1:174:2]
    return torch.where(fused > 0, fused, torch.zeros_like(fused)), swapped


_SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.5, 65504.0, float("inf"), -float("inf"), float("nan"), 6e-8], dtype=HALF)
_LEFT, _RIGHT = (axis.flatten() for axis in torch.meshgrid(_SPECIAL, _SPECIAL, indexing="ij"))


@kernel(
    "half/comparisons",
    inputs=[given(_LEFT), given(_RIGHT)],
    outputs=[result(81, dtype=torch.int32), result(81, 3, dtype=HALF)],
    scalars=[81],
)
def comparisons(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    unordered = x.isnan() | y.isnan()
    flags = [x == y, (x != y) & ~unordered, x < y, x <= y, x > y, x >= y]
    flags += [(x == y) | unordered, (x < y) | unordered, x.isnan(), x.isinf(), x < y, x == y]
    flags += [x == y, unordered]
    bits = sum((flag.int() << place for place, flag in enumerate(flags)), torch.zeros(81, dtype=torch.int32))
    greater = (x > y).to(HALF) + (y > x).to(HALF) * 2
    larger, nan = _larger(x, y), torch.full_like(x, float("nan"))
    return bits, torch.stack([greater, larger, torch.where(unordered, nan, larger)], 1)


def _larger(x: Tensor, y: Tensor) -> Tensor:
    """IEEE 754-2019's maximumNumber: the number where the other is NaN, and +0 above -0."""
    larger = torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.maximum(x, y)))
    zeros = (x == 0) & (y == 0)
    return torch.where(zeros & ~(x.signbit() & y.signbit()), torch.zeros_like(x), larger)


_WIDE = torch.tensor(
    [0.0, 1.0, -1.0, 0.1, -0.1, 3.14159, 1 / 3, 65504.0, 65519.0, 65520.0, 1e5, -1e5, 1e-8, -1e-8, 3e-8, 6.1e-5, 6e-5]
    + [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 40000.0, -40000.0, 1.00048828125, 1.00146484375, 2047.75, -2047.25],
)


def _mix_with_randoms(generator: torch.Generator) -> Tensor:
    return torch.cat([_WIDE, uniform(60, low=-300.0, high=300.0)(generator)])


@kernel(
    "half/conversions",
    inputs=[_mix_with_randoms],
    outputs=[
        result(89, 7, dtype=HALF),
        result(89, 2, dtype=torch.float32),
        result(89, 6, dtype=torch.int32),
    ],
    scalars=[89],
)
def conversions(x: Tensor) -> tuple[Tensor, ...]:
    columns = [
        round_all(lambda a: a, x, dtype=HALF, direction=direction).copysign(x) for direction in ("rn", "rz", "rd", "ru")
    ]
    near = columns[0]
    columns.append(round_all(lambda a: a, x.double() / 3.0, dtype=HALF).copysign(x))
    columns.append(round_all(lambda a: a, (x * 3.0).trunc(), dtype=HALF) + 0.0)
    columns.append(-near)
    floats = torch.stack([near.float(), 3 * near.float()], 1)
    limited = x.clamp(-60000, 60000).to(HALF).double()
    whole = [limited.round(), limited.trunc(), limited.floor(), limited.ceil()]
    whole += [limited.trunc().clamp(-32768, 32767), limited.trunc().clamp(min=0)]
    return torch.stack(columns, 1), floats, torch.stack(whole, 1).int()


@kernel(
    "half/math",
    inputs=[uniform(120, low=0.25, high=4.0, dtype=HALF)],
    outputs=[result(120, 9, dtype=HALF, relative=2 * HALF_ULP, absolute=2e-3), result(120, 4, dtype=HALF)],
    scalars=[120],
    because="two half ulps; sines and logarithms cross zero",
)
def math(x: Tensor) -> tuple[Tensor, ...]:
    wide = x.double()
    columns = [wide.exp(), wide.log(), wide.sqrt(), wide.rsqrt(), 1 / wide, wide.sin(), wide.cos()]
    columns += [wide.exp2(), wide.log2()]
    shifted = x - 2.5
    rounded = [shifted.floor(), shifted.ceil(), shifted.trunc(), shifted.round()]
    return torch.stack(columns, 1), torch.stack(rounded, 1)


@kernel(
    "half/bfloat16_arithmetic",
    inputs=[uniform(117, dtype=BF16), uniform(117, low=0.25, dtype=BF16), uniform(117)],
    outputs=[result(117, 11, dtype=BF16), result(117, 3)],
    scalars=[117],
    because="each operation is correctly rounded",
)
def bfloat16_arithmetic(p: Tensor, q: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    def rounded(direction: str) -> Tensor:
        return round_all(lambda a: a, x, dtype=BF16, direction=direction)

    columns = [p + q, p * q, round_all(lambda a, b: a * b + b, p, q, dtype=BF16), p - q, p / q, torch.maximum(p, q)]
    columns += [rounded(direction) for direction in ("rn", "rz", "ru", "rd")]
    columns.append((p.float() * 3).to(BF16))
    order = torch.where(p < q, 1.0, torch.where(p == q, 0.5, 0.0))
    bits = q.view(torch.int16).int() & 0xFFFF
    return torch.stack(columns, 1), torch.stack([p.float(), order, bits.float()], 1)


@kernel(
    "half/bfloat162_rows",
    inputs=[uniform(5, 54, dtype=BF16), uniform(54, dtype=BF16)],
    outputs=[result(5, 54, dtype=BF16), result(5, absolute=1e-4)],
    scalars=[5, 54],
    because="products are correctly rounded; the sum of 54 terms is in float",
)
def bfloat162_rows(x: Tensor, gain: Tensor) -> tuple[Tensor, ...]:
    shifted = round_all(lambda a, b: a * b + Fraction(1, 2), x, gain.expand_as(x), dtype=BF16)
    signs = torch.tensor([2.0, -2.0], dtype=BF16).repeat(27)
    return shifted * signs, shifted.double().sum(1)


def _finite_narrow(generator: torch.Generator) -> Tensor:
    values = uniform(90, low=-20.0, high=20.0)(generator)
    values[:40] = 2.0 ** values[:40]
    values[40:44] = torch.tensor([0.0, 1e6, -1e6, 448.0])
    return values


@kernel(
    "half/float8",
    inputs=[_finite_narrow],
    outputs=[result(90, dtype=torch.uint8), result(90, dtype=torch.uint8), result(90, 2)],
    scalars=[90],
)
def float8(x: Tensor) -> tuple[Tensor, ...]:
    narrow = x.clamp(-448, 448).to(torch.float8_e4m3fn)
    wide = x.clamp(-57344, 57344).to(torch.float8_e5m2)
    return narrow.view(torch.uint8), wide.view(torch.uint8), torch.stack([narrow.float(), wide.float()], 1)

"""Elementary functions, rounding directions, conversions and special values."""

from __future__ import annotations

import math
from fractions import Fraction

import torch
from description import given, kernel, result, uniform
from torch import Tensor

from references.rounding import DIRECTIONS, round_all

ULP = 2.0**-23


@kernel(
    "math/elementary",
    inputs=[uniform(150, low=0.05, high=8.0)],
    outputs=[result(150, 24, relative=16 * ULP, absolute=8 * ULP)],
    scalars=[150],
    because="CUDA's documented errors: at most 11 ulps (tgammaf); logarithms and sines cross zero",
)
def elementary(x: Tensor) -> Tensor:
    wide = x.double()
    columns = [wide.exp(), wide.exp2(), wide.expm1(), wide.log(), wide.log2(), wide.log10(), wide.log1p()]
    columns += [wide.sqrt(), wide.rsqrt(), wide ** (1 / 3), wide.sin(), wide.cos(), wide.tan()]
    columns += [(x / 8).double().asin(), wide.atan(), wide.sinh(), wide.tanh(), wide.erf(), wide.erfc()]
    columns += [torch.special.ndtr(wide), wide.lgamma(), wide.lgamma().exp(), wide.sin(), wide.cos()]
    return torch.stack(columns, 1)


@kernel(
    "math/two_arguments",
    inputs=[uniform(130, low=0.1, high=4.0), uniform(130, low=0.1, high=4.0)],
    outputs=[result(130, 12, relative=8 * ULP, absolute=4 * ULP)],
    scalars=[130],
    because="CUDA's documented errors: up to 4 ulps (powf), 3 (atan2f)",
)
def two_arguments(a: Tensor, b: Tensor) -> Tensor:
    x, y = a.double(), b.double()
    columns = [x**y, x**3, torch.atan2(y, x), torch.hypot(x, y), torch.fmod((a * 7).double(), y)]
    columns += [(a - b).clamp(min=0).double(), x * y + 1, (x - y).abs()]
    columns += [torch.maximum(x, y) / x.clamp(max=3), (x * x + y * y + 4).sqrt(), 1 / torch.hypot(x, y)]
    columns.append(2 * (x - y).abs())
    return torch.stack(columns, 1)


@kernel(
    "math/doubles",
    inputs=[uniform(70, low=0.1, high=6.0, dtype=torch.float64)],
    outputs=[result(70, 12, dtype=torch.float64, relative=8 * 2.0**-52, absolute=4 * 2.0**-52)],
    scalars=[70],
    because="CUDA's documented errors: at most 2 ulps, on both sides",
)
def doubles(x: Tensor) -> Tensor:
    columns = [x.exp(), x.log(), x.sqrt(), x.rsqrt(), x.sin(), x.cos(), x.tanh(), x.erf(), x**1.5]
    fused = round_all(lambda a: a * a - 1, x, dtype=torch.float64)
    columns += [torch.atan2(x, torch.full_like(x, 2.0)), fused, 1 / x + x * x + (x + 1)]
    return torch.stack(columns, 1)


@kernel(
    "math/fast_intrinsics",
    inputs=[uniform(140, low=0.1, high=3.0)],
    outputs=[result(140, 12, relative=3e-6, absolute=2e-6)],
    scalars=[140],
    because="documented: 2 ulps + |1.2 x| for __expf, 2^-21 absolute for sines and logarithms, __powf built of both",
)
def fast_intrinsics(x: Tensor) -> Tensor:
    wide = x.double()
    quarter = wide / 4
    columns = [wide.exp(), 10**quarter, wide.log(), wide.log2(), wide.log10(), wide.sin(), wide.cos(), quarter.tan()]
    columns += [wide**2.5, wide / 3, (wide - 1).clamp(0, 1), wide.sigmoid()]
    return torch.stack(columns, 1)


def _square_root(value: Fraction, bits: int = 200) -> Fraction:
    """Compute a root to 200 bits: no rounding looks at more, unless the root is exact; the result then is, too."""
    scale = 1 << bits
    root = math.isqrt(value.numerator * value.denominator * scale * scale)
    exact = root * root == value.numerator * value.denominator * scale * scale
    return Fraction(2 * root + (not exact), 2 * value.denominator * scale)


@kernel(
    "math/directed_rounding",
    inputs=[uniform(150, low=-3.0, high=3.0), uniform(150, low=0.01, high=7.0)],
    outputs=[result(150, 22), result(150, 3, dtype=torch.float64)],
    scalars=[150],
    because="every operation is correctly rounded",
)
def directed_rounding(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    single = torch.float32
    columns = [round_all(lambda a, b: a + b, x, y, dtype=single, direction=d) for d in DIRECTIONS]
    columns += [round_all(lambda a, b: a * b, x, y, dtype=single, direction=d) for d in DIRECTIONS]
    columns += [round_all(lambda a, b: a * b + a, x, y, dtype=single, direction=d) for d in DIRECTIONS]
    columns += [round_all(lambda a, b: a / b, x, y, dtype=single, direction=d) for d in DIRECTIONS]
    columns += [round_all(_square_root, x.abs(), dtype=single, direction=d) for d in ("rn", "ru")]
    columns += [round_all(lambda b: 1 / b, y, dtype=single, direction=d) for d in ("rn", "rz")]
    columns.append(round_all(lambda a, b: a - b, x, y, dtype=single, direction="rd"))
    columns.append(round_all(lambda b: 1 / _square_root(b), y, dtype=single))
    tiny = Fraction(1e-17)
    wide = [round_all(lambda a: a + tiny, x, dtype=torch.float64, direction=d) for d in ("rn", "ru", "rd")]
    return torch.stack(columns, 1), torch.stack(wide, 1)


_INFINITY, _NAN = float("inf"), float("nan")
_TO_INTEGERS = torch.tensor(
    [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 1e9, -1e9, 2147483520.0, 2147483648.0, -2147483648.0]
    + [3e9, 4294967040.0, 1e10, -1e10, 1e19, -1e19, 1e-40, -3.7, 123456.789, _INFINITY, -_INFINITY, _NAN]
)


def _to_int(x: Tensor, bits: int, *, signed: bool = True, nan: int = 0) -> Tensor:
    """Convert to integers of `bits` bits; values out of range saturate, as in PTX's cvt."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    values = [nan if math.isnan(v) else high if v >= high else low if v <= low else int(v) for v in x.tolist()]
    wrapped = [value - (1 << bits) if value >= 1 << (bits - 1) else value for value in values]
    return torch.tensor(wrapped)


@kernel(
    "math/conversions",
    inputs=[given(_TO_INTEGERS)],
    outputs=[
        result(26, 10, dtype=torch.int32),
        result(26, 3, dtype=torch.int64),
        result(26, 7, dtype=torch.float32),
    ],
    scalars=[26],
    because="exact; NaN becomes 0, or the lowest integer where a 64-bit type takes part",
)
def conversions(x: Tensor) -> tuple[Tensor, ...]:
    wide = x.double()
    bits, wide_bits = x.view(torch.int32).long(), wide.view(torch.int64)
    ints = [_to_int(way, 32) for way in (wide.round(), wide.trunc(), wide.ceil(), wide.floor())]
    ints += [_to_int(way, 32, signed=False) for way in (wide.round(), wide.trunc())]
    ints += [_to_int((wide * 0.5).round(), 32, nan=-(1 << 31)), bits]
    ints += [(bits & 0xFFFFFFFF) >> 23, wide_bits >> 32]
    lowest = -(1 << 63)
    longs = [_to_int(wide.round(), 64, nan=lowest), _to_int((wide * 1.5).trunc(), 64, nan=lowest), wide_bits]

    whole = bits >> 1
    unsigned = (whole & 0xFFFFFFFF).double()
    floats = [_single(whole.double(), direction) for direction in ("rn", "rz", "ru")]
    floats += [_single(unsigned, "rd"), _single((whole * 12345).double(), "rn")]
    floats += [_single(whole.double() * 1.0000001, "rz"), -x]
    return torch.stack(ints, 1).int(), torch.stack(longs, 1), torch.stack(floats, 1)


def _single(x: Tensor, direction: str) -> Tensor:
    return round_all(lambda a: a, x, dtype=torch.float32, direction=direction)


_VALUES = torch.tensor(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e-45, -1e-40, 3.4e38, _INFINITY, -_INFINITY, _NAN, 1e10, -7.25]
)
_FIRST, _SECOND = (axis.flatten() for axis in torch.meshgrid(_VALUES, _VALUES, indexing="ij"))


@kernel(
    "math/special_values",
    inputs=[given(_FIRST), given(_SECOND)],
    outputs=[result(256, 15), result(256, 2, dtype=torch.int32)],
    scalars=[256],
)
def special_values(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    away = x.abs().add(0.5).floor().copysign(x)
    away = torch.where(x.abs() < 1e6, away, x)
    saturated = torch.where(x.isnan() | (x <= 0), torch.zeros_like(x), x.clamp(0, 1))
    columns = [_smaller(x, y), -_smaller(-x, -y), x.abs().copysign(y), x.abs(), x.round(), away, x.trunc()]
    columns += [x.floor(), x.ceil(), torch.nextafter(x, y), x * 0.5, x * 8, saturated, (x * 0.5).round()]
    columns.append(x - x.trunc())
    flags = [x.isnan(), x.isinf(), x.isfinite(), x.signbit(), x < y, x != y, x == y]
    # The sign of a NaN means nothing; ours is positive.
    bits = sum((flag.int() << place for place, flag in enumerate(flags)), torch.zeros(256, dtype=torch.int32))
    mantissa, exponent = torch.where(x.isfinite(), x, torch.ones_like(x)).double().frexp()
    return torch.stack(columns, 1), torch.stack([bits, exponent * 1000 + (mantissa * 512).int()], 1)


def _smaller(x: Tensor, y: Tensor) -> Tensor:
    """Return the smaller one, or the number where the other is NaN; -0 is below +0."""
    smaller = torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.minimum(x, y)))
    zeros = (x == 0) & (y == 0)
    return torch.where(zeros & (x.signbit() | y.signbit()), -torch.zeros_like(x), smaller)

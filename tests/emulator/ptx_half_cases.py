"""Arithmetic on 16-bit floats, and conversions to and from small ones."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from compiled import BFLOAT16, HALF, Format
from ptx_cases import Case, case, f32, f64, tested
from ptx_conversion_cases import saturating
from ptx_float_cases import extreme


@dataclass(frozen=True)
class _Half:
    """A 16-bit format: bits to float and back."""

    name: str
    format: Format

    def value(self, bits: int) -> float:
        if self.name == "f16":
            return float(np.uint16(bits).view(np.float16))
        return float(np.uint32(bits << 16).view(f32))

    def bits(self, value: float | Fraction, rounding: str = "rn") -> int:
        if isinstance(value, Fraction):
            value = math.copysign(self.format.rounded(value, rounding), value)
        if math.isnan(value):
            return 0x7FFF
        if self.name == "f16":
            return int(np.float16(value).view(np.uint16))
        return int(f32(value).view(np.uint32)) >> 16

    def apply(self, function: Callable[..., Any]) -> Callable[..., int]:
        """A function of bits, rounded once; where there is nothing to round it works on floats."""

        def reference(*operands: int) -> int:
            numbers = [self.value(bits) for bits in operands]
            near = function(*map(f64, numbers))
            if not all(map(math.isfinite, numbers)) or near == 0:
                return self.bits(float(near))
            return self.bits(function(*map(Fraction, numbers)))

        return reference

    def pairwise(self, function: Callable[..., int]) -> Callable[..., int]:
        """The function on both halves of registers."""

        def reference(*registers: int) -> int:
            low, high = (function(*(register >> shift & 0xFFFF for register in registers)) for shift in (0, 16))
            return high << 16 | low

        return reference


_HALVES = (_Half("f16", HALF), _Half("bf16", BFLOAT16))


def cases() -> Iterator[Case]:
    for half in _HALVES:
        functions: dict[str, tuple[int, Callable[..., int]]] = {
            "add.{}": (2, half.apply(lambda a, b: a + b)),
            "sub.{}": (2, half.apply(lambda a, b: a - b)),
            "mul.{}": (2, half.apply(lambda a, b: a * b)),
            "fma.rn.{}": (3, half.apply(lambda a, b, c: a * b + c)),
            "fma.rn.relu.{}": (3, half.apply(_relu_of_fma)),
            "neg.{}": (1, half.apply(operator.neg)),
            "abs.{}": (1, half.apply(abs)),
            "min.{}": (2, _extreme_of(half, largest=False, nan=False)),
            "max.{}": (2, _extreme_of(half, largest=True, nan=False)),
            "min.NaN.{}": (2, _extreme_of(half, largest=False, nan=True)),
            "max.NaN.{}": (2, _extreme_of(half, largest=True, nan=True)),
        }
        for name, (count, function) in functions.items():
            operands = "".join(f", %{i}" for i in range(1, count + 1))
            yield case(f"{name.format(half.name)} %0{operands};", "u16", "u16 " * count, function)
            pair = f"{name.format(half.name + 'x2')} %0{operands};"
            yield case(pair, "u32", "u32 " * count, half.pairwise(function))
        yield case(f"cvt.f32.{half.name} %0, %1;", "f32", "u16", lambda a, h=half: f32(h.value(a)))
        for mode in ("rn", "rz"):
            narrow = _narrowing(half, mode)
            yield case(f"cvt.{mode}.{half.name}.f32 %0, %1;", "u16", "f32", narrow)
            yield case(
                f"cvt.{mode}.{half.name}x2.f32 %0, %1, %2;", "u32", "f32 f32", lambda a, b, n=narrow: n(a) << 16 | n(b)
            )
            yield case(
                f"cvt.{mode}.relu.{half.name}x2.f32 %0, %1, %2;", "u32", "f32 f32",
                lambda a, b, n=narrow: n(0.0 if a <= 0 else a) << 16 | n(0.0 if b <= 0 else b),
            )  # fmt: skip
    half = _HALVES[0]
    yield case("cvt.rn.f16.s32 %0, %1;", "u16", "s32", lambda a: half.bits(Fraction(a)))
    yield case("cvt.rn.satfinite.f16.f32 %0, %1;", "u16", "f32", _finite(half))
    yield from _byte_cases()
    yield case("cvt.rni.s32.f16 %0, %1;", "s32", "u16", lambda a: saturating("s32", "f16", round)(half.value(a)))
    yield case("cvt.rna.tf32.f32 %0, %1; and.b32 %0, %0, 0xffffe000;", "u32", "f32", _nearest_tf32)
    yield case(tested("setp.lt.f16 p, %1, %2;"), "u32", "u16 u16", lambda a, b: half.value(a) < half.value(b))
    yield case(
        "{ .reg .pred p, q; .reg .u32 low, high; setp.lt.f16x2 p|q, %1, %2; selp.u32 low, 1, 0, p; "
        "selp.u32 high, 0x10000, 0, q; or.b32 %0, low, high; }",
        "u32", "u32 u32", half.pairwise(lambda a, b: int(half.value(a) < half.value(b))),
    )  # fmt: skip
    yield case("mov.b32 {%0, _}, %1;", "u16", "u32", lambda a: a & 0xFFFF)
    yield case("mov.b32 {_, %0}, %1;", "u16", "u32", lambda a: a >> 16)
    yield case("mov.b32 %0, {%1, %2};", "u32", "u16 u16", lambda a, b: b << 16 | a)
    yield case("mov.b64 %0, {%1, %2};", "u64", "u32 u32", lambda a, b: b << 32 | a)


def _finite(half: _Half) -> Callable[[Any], int]:
    """The largest number stands for those that are too large."""
    largest = float(half.format.largest)
    return lambda a: half.bits(a if math.isnan(a) else Fraction(min(max(float(a), -largest), largest)) or float(a))


def _byte_cases() -> Iterator[Case]:
    """Eight-bit floats, of which torch knows the values."""
    for name, dtype, largest in (("e4m3", torch.float8_e4m3fn, 448.0), ("e5m2", torch.float8_e5m2, 57344.0)):

        def byte(a: float, dtype: torch.dtype = dtype, largest: float = largest) -> int:
            kept = a if math.isnan(a) else min(max(a, -largest), largest)
            bits = int(torch.tensor(kept, dtype=torch.float32).to(dtype).view(torch.uint8))
            return 0x7F if math.isnan(a) else bits

        def half_bits(bits: int, dtype: torch.dtype = dtype) -> int:
            value = torch.tensor([bits], dtype=torch.uint8).view(dtype).item()
            return _HALVES[0].bits(value)

        yield case(
            f"cvt.rn.satfinite.{name}x2.f32 %0, %1, %2;", "u16", "f32 f32",
            lambda a, b, f=byte: f(float(a)) << 8 | f(float(b)),
        )  # fmt: skip
        yield case(
            f"cvt.rn.satfinite.relu.{name}x2.f16x2 %0, %1;", "u16", "u32",
            lambda a, f=byte: f(_positive(_HALVES[0].value(a >> 16))) << 8 | f(_positive(_HALVES[0].value(a & 0xFFFF))),
        )  # fmt: skip
        yield case(f"cvt.rn.f16x2.{name}x2 %0, %1;", "u32", "u16", lambda a, f=half_bits: f(a >> 8) << 16 | f(a & 0xFF))


def _positive(a: float) -> float:
    return 0.0 if a <= 0 else a


def _relu_of_fma(a: Any, b: Any, c: Any) -> Any:
    result = a * b + c
    return type(result)(0) if result <= 0 else result


def _extreme_of(half: _Half, *, largest: bool, nan: bool) -> Callable[[int, int], int]:
    return lambda a, b: half.bits(float(extreme(f64(half.value(a)), f64(half.value(b)), largest=largest, nan=nan)))


def _narrowing(half: _Half, mode: str) -> Callable[[Any], int]:
    def reference(a: Any) -> int:
        return half.bits(Fraction(float(a)) if math.isfinite(a) and a != 0 else float(a), mode)

    return reference


def _nearest_tf32(a: Any) -> int:
    """Ties away from zero."""
    if not math.isfinite(a):
        return int(f32(a).view(np.uint32)) & 0xFFFFE000
    return (int(f32(a).view(np.uint32)) + 0x1000) & 0xFFFFE000

"""Conversions between numbers of 16 bits and more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from ptx_cases import Case, case, clamped, f32, f64, wrapped
from ptx_float_cases import unit_interval


def cases() -> Iterator[Case]:
    integers = ("u16", "s16", "u32", "s32", "u64", "s64")
    for source in integers:
        for target in integers:
            yield case(f"cvt.{target}.{source} %0, %1;", target, source, lambda a, k=target: wrapped(k, a))
            if not _contains(target, source):
                yield case(f"cvt.sat.{target}.{source} %0, %1;", target, source, lambda a, k=target: clamped(k, a))
        yield case(f"cvt.rn.f32.{source} %0, %1;", "f32", source, lambda a: _integer_as(f32, a))
        yield case(f"cvt.rn.f64.{source} %0, %1;", "f64", source, lambda a: _integer_as(f64, a))
    for target in integers:
        for mode, rounded in _TO_INTEGER.items():
            for source in ("f32", "f64"):
                yield case(f"cvt.{mode}.{target}.{source} %0, %1;", target, source, saturating(target, source, rounded))
    yield case("cvt.f64.f32 %0, %1;", "f64", "f32", f64)
    yield case("cvt.rn.f32.f64 %0, %1;", "f32", "f64", f32)
    yield case("cvt.rz.f32.f64 %0, %1;", "f32", "f64", lambda a: _directed_narrowing(a))
    yield case("cvt.sat.f32.f32 %0, %1;", "f32", "f32", unit_interval)
    for mode, rounded in _TO_INTEGER.items():
        yield case(f"cvt.{mode}.f32.f32 %0, %1;", "f32", "f32", lambda a, r=rounded: _integral(a, r))
    yield case("cvt.pack.sat.s16.s32 %0, %1, %2;", "u32", "s32 s32", lambda a, b: _packed(16, "s16", 0, a, b))
    yield case(
        "cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;", "u32", "s32 s32 u32", lambda a, b, c: _packed(8, "u8", c, a, b)
    )


def _contains(target: str, source: str) -> bool:
    """Tell if the integer type `target` holds every value of `source`. The assembler then refuses to saturate."""
    return all(clamped(target, bound) == bound for bound in (clamped(source, -(2**70)), clamped(source, 2**70)))


_TO_INTEGER: dict[str, Callable[[float], int]] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def _integer_as(real: Any, value: int) -> Any:
    """Round an integer once, which numpy and Python do for integers of any size."""
    return real(np.uint64(value)) if value >= 0 else real(np.int64(value))


def saturating(target: str, source: str, rounded: Callable[[float], int]) -> Callable[[Any], int]:
    """Return the saturating conversion of a float of type `source` to the integer type `target`."""

    def reference(a: Any) -> int:
        if math.isnan(a):
            return wrapped(target, 1 << int(target[1:]) - 1) if "64" in target + source else 0
        if math.isinf(a):
            return clamped(target, 1 << 70 if a > 0 else -(1 << 70))
        return clamped(target, rounded(float(a)))

    return reference


def _integral(a: Any, rounded: Callable[[float], int]) -> Any:
    return np.copysign(f32(rounded(float(a))), a) if math.isfinite(a) else a


def _directed_narrowing(a: Any) -> Any:
    near = f32(a)
    if math.isinf(near) and math.isfinite(a):
        return np.copysign(np.finfo(f32).max, near)
    return np.nextafter(near, f32(0)) if abs(f64(near)) > abs(a) else near


def _packed(width: int, kind: str, before: int, high: int, low: int) -> int:
    mask = (1 << width) - 1
    pair = (clamped(kind, high) & mask) << width | clamped(kind, low) & mask
    return (before << 2 * width | pair) % 2**32

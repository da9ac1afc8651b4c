"""Floating-point arithmetic and comparisons."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from compiled import DOUBLE, SINGLE
from ptx_cases import Case, case, f32, f64


def cases() -> Iterator[Case]:
    for kind, real in (("f32", f32), ("f64", f64)):
        two = f"{kind} {kind}"
        yield case(f"add.rn.{kind} %0, %1, %2;", kind, two, lambda a, b: a + b)
        yield case(f"sub.rn.{kind} %0, %1, %2;", kind, two, lambda a, b: a - b)
        yield case(f"mul.rn.{kind} %0, %1, %2;", kind, two, lambda a, b: a * b)
        yield case(f"div.rn.{kind} %0, %1, %2;", kind, two, lambda a, b: a / b)
        yield case(f"rcp.rn.{kind} %0, %1;", kind, kind, lambda a, r=real: r(1) / a)
        yield case(f"sqrt.rn.{kind} %0, %1;", kind, kind, np.sqrt)
        yield case(f"abs.{kind} %0, %1;", kind, kind, abs)
        yield case(f"neg.{kind} %0, %1;", kind, kind, lambda a: -a)
        yield case(f"min.{kind} %0, %1, %2;", kind, two, lambda a, b: extreme(a, b, largest=False, nan=False))
        yield case(f"max.{kind} %0, %1, %2;", kind, two, lambda a, b: extreme(a, b, largest=True, nan=False))
        yield case(f"copysign.{kind} %0, %1, %2;", kind, two, lambda a, b: np.copysign(b, a))
        for test, holds in _TESTS.items():
            yield case(
                f"{{ .reg .pred p; testp.{test}.{kind} p, %1; selp.u32 %0, 1, 0, p; }}", "u32", kind,
                lambda a, h=holds, r=real: int(h(a, float(np.finfo(r).tiny))),
            )  # fmt: skip
        yield case(f"fma.rn.{kind} %0, %1, %2, %3;", kind, f"{two} {kind}", _fused(real))
        yield case(f"mad.rn.{kind} %0, %1, %2, %3;", kind, f"{two} {kind}", _fused(real))
    yield case("div.approx.f32 %0, %1, %2;", "f32", "f32 f32", lambda a, b: a / b, 2.0**-21)
    yield case("div.full.ftz.f32 %0, %1, %2;", "f32", "f32 f32", lambda a, b: _flushed(a) / _flushed(b), 2.0**-21)
    yield case(_OF_SMALL.format("sin"), "f32", "f32", lambda a: f32(np.sin(_small(a))), 2.0**-18)
    yield case(_OF_SMALL.format("cos"), "f32", "f32", lambda a: f32(np.cos(_small(a))), 2.0**-18)
    yield case("min.NaN.f32 %0, %1, %2;", "f32", "f32 f32", lambda a, b: extreme(a, b, largest=False, nan=True))
    yield case("max.NaN.f32 %0, %1, %2;", "f32", "f32 f32", lambda a, b: extreme(a, b, largest=True, nan=True))
    yield case("max.xorsign.abs.f32 %0, %1, %2;", "f32", "f32 f32", _xorsign)
    yield case("add.sat.f32 %0, %1, %2;", "f32", "f32 f32", lambda a, b: unit_interval(a + b))
    yield case("mul.ftz.f32 %0, %1, %2;", "f32", "f32 f32", lambda a, b: _flushed(_flushed(a) * _flushed(b)))
    yield case("add.rz.f32 %0, %1, %2;", "f32", "f32 f32", _directed("rz", operator.add))
    yield case("mul.rp.f32 %0, %1, %2;", "f32", "f32 f32", _directed("ru", operator.mul))
    yield case("mul.rm.f32 %0, %1, %2;", "f32", "f32 f32", _directed("rd", operator.mul))
    for name, function in _APPROXIMATE.items():
        tolerance = 2.0**-10 if name == "tanh.approx" else 2.0**-20
        yield case(f"{name}.f32 %0, %1;", "f32", "f32", lambda a, f=function: f32(f(f64(a))), tolerance)


_TESTS: dict[str, Callable[[float, float], bool]] = {
    "finite": lambda a, _: math.isfinite(a),
    "infinite": lambda a, _: math.isinf(a),
    "number": lambda a, _: not math.isnan(a),
    "notanumber": lambda a, _: math.isnan(a),
    "normal": lambda a, tiny: math.isfinite(a) and (abs(a) >= tiny or a == 0),
    "subnormal": lambda a, tiny: 0 < abs(a) < tiny,
}
_APPROXIMATE: dict[str, Callable[..., Any]] = {
    "rcp.approx": lambda a: 1 / a,
    "sqrt.approx": np.sqrt,
    "rsqrt.approx": lambda a: 1 / np.sqrt(a),
    "ex2.approx": np.exp2,
    "lg2.approx": np.log2,
    "tanh.approx": np.tanh,
}


# The device's absolute error is bounded for small angles only: these lie between 0.5 and 1.
_OF_SMALL = "{{ .reg .b32 t; and.b32 t, %1, 0x007fffff; or.b32 t, t, 0x3f000000; {}.approx.f32 %0, t; }}"


def _small(a: Any) -> Any:
    return f64((f32(a).view(np.uint32) & np.uint32(0x007FFFFF) | np.uint32(0x3F000000)).view(f32))


def _fused(real: type[Any]) -> Callable[..., Any]:
    format_ = SINGLE if real is f32 else DOUBLE

    def reference(a: Any, b: Any, c: Any) -> Any:
        near = real(f64(a) * f64(b) + f64(c))
        if not all(map(math.isfinite, (a, b, c))) or near == 0:
            return near
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        return real(math.copysign(format_.rounded(exact, "rn"), exact if exact else near))

    return reference


def extreme(a: Any, b: Any, *, largest: bool, nan: bool) -> Any:
    """Minimum or maximum; -0 is smaller than +0, and a NaN counts only if `nan`."""
    if math.isnan(a) or math.isnan(b):
        return type(a)(math.nan) if nan or (math.isnan(a) and math.isnan(b)) else b if math.isnan(a) else a
    ordered = sorted((a, b), key=lambda x: (float(x), not np.signbit(x)))
    return ordered[largest]


def _xorsign(a: Any, b: Any) -> Any:
    result = extreme(abs(a), abs(b), largest=True, nan=False)
    return -abs(result) if np.signbit(a) != np.signbit(b) else abs(result)


def unit_interval(a: Any) -> Any:
    """Clamped to [0, 1]; NaN becomes 0."""
    return f32(min(float(a), 1.0)) if a > 0 else f32(0)


def _flushed(a: Any) -> Any:
    return np.copysign(f32(0), a) if abs(a) < np.finfo(f32).tiny else a


def _directed(rounding: str, operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A float operation in another rounding than the nearest; numpy's result stands where there is nothing to round."""

    def reference(a: Any, b: Any) -> Any:
        near = operation(a, b)
        if not (math.isfinite(a) and math.isfinite(b)) or near == 0:
            return near
        return f32(SINGLE.rounded(operation(Fraction(float(a)), Fraction(float(b))), rounding))

    return reference

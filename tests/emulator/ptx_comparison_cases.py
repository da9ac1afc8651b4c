"""Comparisons and selections."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from ptx_cases import Case, case, f32, tested

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def cases() -> Iterator[Case]:
    for name, holds in _COMPARISONS.items():
        for kind in ("u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"):
            ordered = _on_numbers(holds, unordered=False)
            yield case(tested(f"setp.{name}.{kind} p, %1, %2;"), "u32", f"{kind} {kind}", ordered)
        unordered = _on_numbers(holds, unordered=True)
        yield case(tested(f"setp.{name}u.f32 p, %1, %2;"), "u32", "f32 f32", unordered)
        yield case(f"set.{name}.u32.f32 %0, %1, %2;", "u32", "f32 f32", lambda a, b, h=ordered: 0xFFFFFFFF * h(a, b))
        yield case(f"set.{name}.f32.s32 %0, %1, %2;", "f32", "s32 s32", lambda a, b, h=holds: f32(h(a, b)))
    for name, same in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")):
        yield case(tested(f"setp.{name}.u32 p, %1, %2;"), "u32", "u32 u32", lambda a, b, s=same: _COMPARISONS[s](a, b))
    yield case(tested("setp.num.f32 p, %1, %2;"), "u32", "f32 f32", lambda a, b: not _unordered(a, b))
    yield case(tested("setp.nan.f32 p, %1, %2;"), "u32", "f32 f32", _unordered)
    for name, combine in (("and", lambda p, q: p and q), ("or", lambda p, q: p or q), ("xor", lambda p, q: p != q)):
        template = f"{{ .reg .pred p, q, r; setp.ne.u32 r, %3, 0; setp.lt.{name}.s32 p|q, %1, %2, r; "
        for register, wanted in (("p", True), ("q", False)):
            yield case(
                template + f"selp.u32 %0, 1, 0, {register}; }}", "u32", "s32 s32 u32",
                lambda a, b, c, f=combine, w=wanted: int(f((a < b) == w, c != 0)),
            )  # fmt: skip
    yield case(
        "{ .reg .pred r; setp.ne.u32 r, %3, 0; set.lt.and.s32.f32 %0, %1, %2, r; }",
        "s32", "f32 f32 u32", lambda a, b, c: -int(a < b and c != 0),
    )  # fmt: skip
    yield case("slct.u32.s32 %0, %1, %2, %3;", "u32", "u32 u32 s32", lambda a, b, c: a if c >= 0 else b)
    yield case("slct.f32.f32 %0, %1, %2, %3;", "f32", "f32 f32 f32", lambda a, b, c: a if c >= 0 else b)


def _unordered(a: Any, b: Any) -> bool:
    return math.isnan(a) or math.isnan(b)


def _on_numbers(holds: Callable[[Any, Any], bool], *, unordered: bool) -> Callable[[Any, Any], int]:
    def reference(a: Any, b: Any) -> int:
        return int(unordered if math.isnan(a) or math.isnan(b) else holds(a, b))

    return reference

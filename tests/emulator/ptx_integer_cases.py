"""Integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ptx_cases import Case, case, clamped, wrapped


def cases() -> Iterator[Case]:
    for kind in ("u16", "s16", "u32", "s32", "u64", "s64"):
        width = int(kind[1:])
        two, three = f"{kind} {kind}", f"{kind} {kind} {kind}"

        def modulo(function: Callable[..., int], kind: str = kind) -> Callable[..., int]:
            return lambda *values: wrapped(kind, function(*values))

        yield case(f"add.{kind} %0, %1, %2;", kind, two, modulo(lambda a, b: a + b))
        yield case(f"sub.{kind} %0, %1, %2;", kind, two, modulo(lambda a, b: a - b))
        yield case(f"mul.lo.{kind} %0, %1, %2;", kind, two, modulo(lambda a, b: a * b))
        yield case(f"mul.hi.{kind} %0, %1, %2;", kind, two, modulo(lambda a, b, w=width: a * b >> w))
        yield case(f"mad.lo.{kind} %0, %1, %2, %3;", kind, three, modulo(lambda a, b, c: a * b + c))
        yield case(f"mad.hi.{kind} %0, %1, %2, %3;", kind, three, modulo(lambda a, b, c, w=width: (a * b >> w) + c))
        yield case(f"sad.{kind} %0, %1, %2, %3;", kind, three, modulo(lambda a, b, c: abs(a - b) + c))
        yield case(f"min.{kind} %0, %1, %2;", kind, two, min)
        yield case(f"max.{kind} %0, %1, %2;", kind, two, max)
        yield case(f"shr.{kind} %0, %1, %2;", kind, f"{kind} u32", lambda a, n: a >> n)
        yield case(f"div.{kind} %0, %1, %2;", kind, two, modulo(_quotient))
        yield case(f"rem.{kind} %0, %1, %2;", kind, two, modulo(_remainder))
        if kind[0] == "s":
            yield case(f"neg.{kind} %0, %1;", kind, kind, modulo(lambda a: -a))
            yield case(f"abs.{kind} %0, %1;", kind, kind, modulo(abs))
        if width < 64:
            wide = kind[0] + str(2 * width)
            yield case(f"mul.wide.{kind} %0, %1, %2;", wide, two, lambda a, b: a * b)
            yield case(
                f"mad.wide.{kind} %0, %1, %2, %3;",
                wide,
                f"{two} {wide}",
                lambda a, b, c, k=wide: wrapped(k, a * b + c),
            )
    yield case("add.sat.s32 %0, %1, %2;", "s32", "s32 s32", lambda a, b: clamped("s32", a + b))
    yield case("sub.sat.s32 %0, %1, %2;", "s32", "s32 s32", lambda a, b: clamped("s32", a - b))
    for kind in ("u32", "s32"):
        low = lambda a, k=kind: wrapped(k, a << 8) >> 8  # noqa: E731
        two = f"{kind} {kind}"
        yield case(f"mul24.lo.{kind} %0, %1, %2;", kind, two, lambda a, b, k=kind, f=low: wrapped(k, f(a) * f(b)))
        yield case(f"mul24.hi.{kind} %0, %1, %2;", kind, two, lambda a, b, k=kind, f=low: wrapped(k, f(a) * f(b) >> 16))
        yield case(
            f"mad24.lo.{kind} %0, %1, %2, %3;", kind, two + f" {kind}",
            lambda a, b, c, k=kind, f=low: wrapped(k, f(a) * f(b) + c),
        )  # fmt: skip
    yield case(
        "{ .reg .u32 lo, hi; add.cc.u32 lo, %1, %2; addc.u32 hi, %3, %4; mov.b64 %0, {lo, hi}; }",
        "u64", "u32 u32 u32 u32",
        lambda a, b, c, d: (a + b + ((c + d) << 32)) % 2**64,
    )  # fmt: skip
    yield case(
        "{ .reg .u32 lo, hi; sub.cc.u32 lo, %1, %2; subc.u32 hi, %3, %4; mov.b64 %0, {lo, hi}; }",
        "u64", "u32 u32 u32 u32",
        lambda a, b, c, d: (a - b + ((c - d) << 32)) % 2**64,
    )  # fmt: skip
    yield case(
        "{ .reg .u32 lo, hi; mad.lo.cc.u32 lo, %1, %2, %3; madc.hi.u32 hi, %1, %2, %4; mov.b64 %0, {lo, hi}; }", "u64",
        "u32 u32 u32 u32", lambda a, b, c, d: (a * b + c + (d << 32)) % 2**64,
    )  # fmt: skip
    for a_kind in ("u32", "s32"):
        for b_kind in ("u32", "s32"):
            yield case(f"dp4a.{a_kind}.{b_kind} %0, %1, %2, %3;", "u32", "u32 u32 u32", _dot(a_kind, b_kind, 8, 0))
            yield case(f"dp2a.lo.{a_kind}.{b_kind} %0, %1, %2, %3;", "u32", "u32 u32 u32", _dot(a_kind, b_kind, 16, 0))
            yield case(f"dp2a.hi.{a_kind}.{b_kind} %0, %1, %2, %3;", "u32", "u32 u32 u32", _dot(a_kind, b_kind, 16, 2))


def _quotient(a: int, b: int) -> int:
    """Rounded towards zero. The manual leaves divisions by zero open; an H200 returns all ones."""
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b) if b else -1


def _dot(a_kind: str, b_kind: str, a_width: int, first: int) -> Callable[..., int]:
    def reference(a: int, b: int, c: int) -> int:
        for i in range(32 // a_width):
            left = wrapped(f"{a_kind[0]}{a_width}", a >> (a_width * i))
            c += left * wrapped(f"{b_kind[0]}8", b >> (8 * (first + i)))
        return c % 2**32

    return reference

"""Logic, shifts, bit fields and permutations."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from ptx_cases import Case, case, wrapped


def cases() -> Iterator[Case]:
    for width in (16, 32, 64):
        kind, ones = f"u{width}", (1 << width) - 1
        yield case(f"and.b{width} %0, %1, %2;", kind, f"{kind} {kind}", lambda a, b: a & b)
        yield case(f"or.b{width} %0, %1, %2;", kind, f"{kind} {kind}", lambda a, b: a | b)
        yield case(f"xor.b{width} %0, %1, %2;", kind, f"{kind} {kind}", lambda a, b: a ^ b)
        yield case(f"not.b{width} %0, %1;", kind, kind, lambda a, m=ones: a ^ m)
        yield case(f"cnot.b{width} %0, %1;", kind, kind, lambda a: int(a == 0))
        yield case(f"shl.b{width} %0, %1, %2;", kind, f"{kind} u32", lambda a, n, m=ones: (a << min(n, 64)) & m)
    for width in (32, 64):
        kind = f"u{width}"
        yield case(f"brev.b{width} %0, %1;", kind, kind, lambda a, w=width: int(f"{a:0{w}b}"[::-1], 2))
        yield case(f"clz.b{width} %0, %1;", "u32", kind, lambda a, w=width: w - a.bit_length())
        yield case(f"popc.b{width} %0, %1;", "u32", kind, lambda a: a.bit_count())
        insert = f"{_TWO_BYTES.format(3, 4)} bfi.b{width} %0, %1, %2, position, length; }}"
        yield case(insert, kind, f"{kind} {kind} u32 u32", _insertion(width))
        for sign in "us":
            kind = f"{sign}{width}"
            extract = f"{_TWO_BYTES.format(2, 3)} bfe.{kind} %0, %1, position, length; }}"
            yield case(extract, kind, f"{kind} u32 u32", _extraction(kind))
            yield case(f"bfind.{kind} %0, %1;", "u32", kind, lambda a: (a ^ (a >> 64)).bit_length() - 1 & 0xFFFFFFFF)
            yield case(f"bfind.shiftamt.{kind} %0, %1;", "u32", kind, _shift_of_highest(width))
    yield case("lop3.b32 %0, %1, %2, %3, %4;", "u32", "u32 u32 u32 n32", _lop3)
    yield case("lop3.b32 %0, %1, %2, %3, 0x1b;", "u32", "u32 u32 u32", lambda a, b, c: _lop3(a, b, c, 0x1B))
    yield case(
        "{ .reg .pred p, q; setp.ne.u32 q, %4, 0; lop3.and.b32 %0|p, %1, %2, %3, 0x80, q; selp.u32 %0, 1, 0, p; }",
        "u32", "u32 u32 u32 u32", lambda a, b, c, q: int((a & b & c) != 0 and q != 0),
    )  # fmt: skip
    for limit, amount in (("clamp", lambda n: min(n, 32)), ("wrap", lambda n: n % 32)):
        yield case(
            f"shf.l.{limit}.b32 %0, %1, %2, %3;", "u32", "u32 u32 u32",
            lambda a, b, n, f=amount: ((b << 32 | a) << f(n) >> 32) % 2**32,
        )  # fmt: skip
        yield case(
            f"shf.r.{limit}.b32 %0, %1, %2, %3;", "u32", "u32 u32 u32",
            lambda a, b, n, f=amount: ((b << 32 | a) >> f(n)) % 2**32,
        )  # fmt: skip
    yield case("prmt.b32 %0, %1, %2, %3;", "u32", "u32 u32 u32", _permutation)
    for mode, order in _PERMUTATIONS.items():
        yield case(f"prmt.b32.{mode} %0, %1, %2, %3;", "u32", "u32 u32 u32", _chosen(order))


# The manual restricts positions and lengths to 0 … 255.
_TWO_BYTES = "{{ .reg .u32 position, length; and.b32 position, %{}, 255; and.b32 length, %{}, 255;"


def _insertion(width: int) -> Callable[..., int]:
    def reference(a: int, b: int, position: int, length: int) -> int:
        for i in range(length & 255):
            at = (position & 255) + i
            if at < width:
                b = b & ~(1 << at) | (a >> i & 1) << at
        return b

    return reference


def _extraction(kind: str) -> Callable[..., int]:
    def reference(a: int, position: int, length: int) -> int:
        width, position, length = int(kind[1:]), position & 255, length & 255
        sign = a >> min(position + length - 1, width - 1) & 1 if kind[0] == "s" and length else 0
        bits = [a >> (position + i) & 1 if i < length and position + i < width else sign for i in range(width)]
        return wrapped(kind, sum(bit << i for i, bit in enumerate(bits)))

    return reference


def _shift_of_highest(width: int) -> Callable[[int], int]:
    def reference(a: int) -> int:
        length = (a ^ (a >> 64)).bit_length()
        return width - length if length else 0xFFFFFFFF

    return reference


def _lop3(a: int, b: int, c: int, table: int) -> int:
    rows = ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) for i in range(32))
    return sum((table >> row & 1) << i for i, row in enumerate(rows))


def _permutation(a: int, b: int, selector: int) -> int:
    values = struct.pack("<II", a, b)
    chosen = [(values[selector >> 4 * i & 7], selector >> 4 * i & 8) for i in range(4)]
    return int.from_bytes(bytes((255 if byte > 127 else 0) if sign else byte for byte, sign in chosen), "little")


# Bytes 3, 2, 1, 0 of the result for the low bits 0, 1, 2, 3 of the selector: the table of the manual.
_PERMUTATIONS = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def _chosen(order: tuple[str, ...]) -> Callable[..., int]:
    def reference(a: int, b: int, selector: int) -> int:
        values = struct.pack("<II", a, b)
        return int.from_bytes(bytes(values[int(i)] for i in reversed(order[selector & 3])), "little")

    return reference

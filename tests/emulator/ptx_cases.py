"""Instructions that each thread carries out for itself: PTX, operands, and a reference for one element at a time.

References follow the PTX manual; where it leaves a result open they say what an H200 returns. They work on Python's
integers and numpy's floats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from ptx_program import Snippet

f32, f64 = np.float32, np.float64


@dataclass(frozen=True)
class Case:
    """A snippet with its reference; `tolerance` is relative, and 0 means the same bits."""

    snippet: Snippet
    reference: Callable[..., Any]
    tolerance: float = 0.0


_CONSTRAINTS = {"16": "h", "32": "r", "64": "l"}
_LETTERS = {"f32": "f", "f64": "d", "n32": "n"}


def case(template: str, output: str, inputs: str, reference: Callable[..., Any], tolerance: float = 0.0) -> Case:
    """Operands are types such as `u32`, separated by blanks; `n32` is an immediate."""

    def operand(kind: str) -> str:
        return f"{_LETTERS.get(kind) or _CONSTRAINTS[kind[1:]]}:{kind.replace('n', 'u')}"

    snippet = Snippet(template, (operand(output),), tuple(operand(kind) for kind in inputs.split()))
    return Case(snippet, reference, tolerance)


def wrapped(kind: str, value: int) -> int:
    """The value modulo the type's range."""
    width = int(kind[1:])
    value &= (1 << width) - 1
    return value - (1 << width) if kind[0] == "s" and value >> (width - 1) else value


def clamped(kind: str, value: int) -> int:
    """The nearest value of the type."""
    width = int(kind[1:])
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    return min(max(value, low), high)


def tested(setp: str) -> str:
    """A predicate p as a number."""
    return f"{{ .reg .pred p; {setp} selp.u32 %0, 1, 0, p; }}"


def values(operand: str, count: int, generator: np.random.Generator) -> np.ndarray[Any, Any]:
    """Inputs for an operand: the values at which instructions differ, and random ones."""
    constraint, _, kind = operand.partition(":")
    if constraint == "n":
        return np.arange(count, dtype=np.uint32) % 256
    if kind[0] == "f":
        real = {"f32": f32, "f64": f64}[kind]
        special = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-42, -1e-42, 3e9, -3e9, 1e20]
        ordinary = generator.standard_normal(count) * 2.0 ** generator.integers(-8, 8, count)
        chosen = np.where(generator.random(count) < 0.3, generator.choice(special, count), ordinary)
        return chosen.astype(real)
    width = int(kind[1:])
    special = [0, 1, 2, 31, 32, 33, 63, 64, 2 ** (width - 1) - 1, 2 ** (width - 1), 2**width - 1, 2**width - 2]
    bits = [int(b) for b in generator.integers(0, 2**63, count)]
    shifts = generator.integers(0, width, count)
    mixed = [b * 3 % 2**width >> int(s) for b, s in zip(bits, shifts, strict=True)]
    chosen_bits = [special[b % len(special)] if b % 3 == 0 else m for b, m in zip(bits, mixed, strict=True)]
    return np.array(chosen_bits, dtype=f"u{width // 8}").view(f"{kind[0].replace('s', 'i')}{width // 8}")

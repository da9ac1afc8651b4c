"""Headers of the emulator under test: compile a file of `scalars/`, call its functions on tensors.

The module also has exact references: a real number rounded to any binary format in any direction.
"""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import torch

FOLDER = Path(__file__).parent / "scalars"
EMULATOR = Path(__file__).parents[2] / "robust_kbench" / "emulator"
INCLUDE = EMULATOR / "include"
FLAGS = ("-std=gnu++20", "-O2", "-w", "-ffp-contract=fast", "-march=native", f"-I{INCLUDE}")

NEAREST, ZERO, UP, DOWN = "rn", "rz", "ru", "rd"
ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    NEAREST: round,  # of two equally near integers Python takes the even one, as the device does
    ZERO: math.trunc,
    UP: math.ceil,
    DOWN: math.floor,
}


class Compiled:
    """The functions of one shared object, each taking tensors of one length and returning such a tensor."""

    def __init__(self, source: str, folder: Path) -> None:
        target = folder / f"{source}.so"
        sources = [FOLDER / source, EMULATOR / "runtime" / "extremes.cpp"]
        subprocess.run(["g++", *FLAGS, "-shared", "-fPIC", *map(str, sources), "-o", str(target)], check=True)
        self._library = ctypes.CDLL(str(target))

    def __call__(self, name: str, dtype: torch.dtype, *arguments: torch.Tensor) -> torch.Tensor:
        """Call `name` on every element of the arguments; return a tensor of `dtype`."""
        dense = [argument.contiguous() for argument in arguments]
        result = torch.empty(dense[0].numel(), dtype=dtype)
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*dense, result)]
        getattr(self._library, name)(*pointers, ctypes.c_int64(result.numel()))
        return result


class Format:
    """A binary number format. `digits` includes the leading one; `lowest` is the exponent of the smallest normal."""

    def __init__(self, digits: int, lowest: int) -> None:
        self.digits = digits
        self.lowest = lowest
        self.largest = Fraction(2) ** (1 - lowest) * (2 - Fraction(2) ** (1 - digits))

    def rounded(self, value: Fraction, rounding: str) -> float:
        """Round `value` once; the result is infinite where that overflows."""
        if value == 0:
            return 0.0
        unit = Fraction(2) ** (max(_exponent(value), self.lowest) - self.digits + 1)
        near = ROUNDINGS[rounding](value / unit) * unit
        if abs(near) <= self.largest:
            return float(near)
        towards_zero = {NEAREST: False, ZERO: True, UP: value < 0, DOWN: value > 0}[rounding]
        return math.copysign(float(self.largest) if towards_zero else math.inf, -1 if value < 0 else 1)


def _exponent(value: Fraction) -> int:
    """Return the integer e with 2**e <= |value| < 2**(e + 1)."""
    guess = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= abs(value) else guess - 1


HALF = Format(11, -14)
BFLOAT16 = Format(8, -126)
SINGLE = Format(24, -126)
DOUBLE = Format(53, -1022)


def same(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Mark the elements that hold the same number. Any NaN is the same as any other, and the zeros differ."""
    equal = (left == right) & (left.signbit() == right.signbit())
    return equal | (left.isnan() & right.isnan())


def assert_same(left: torch.Tensor, right: torch.Tensor) -> None:
    """Fail with the first place where the two differ."""
    wrong = (~same(left, right)).nonzero().flatten()
    assert not len(wrong), f"{len(wrong)} differ; at {wrong[0]}: {left[wrong[0]].item()} != {right[wrong[0]].item()}"

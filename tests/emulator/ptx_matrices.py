"""Matrix fragments as the PTX manual draws them: which element of a matrix a lane holds where.

`group` is lane / 4 and `member` lane % 4 (the manual's groupID and threadID_in_group).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Place = Callable[[int, int, int], tuple[int, int]]
"""(group, member, element) → (row, column)."""
Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Shape:
    """A shape of mma, with the manual's formulas for its fragments."""

    name: str
    a: Place
    b: Place
    a_elements: int
    b_elements: int

    @property
    def m(self) -> int:
        return int(self.name[1:].partition("n")[0])

    @property
    def k(self) -> int:
        return int(self.name.partition("k")[2])

    @property
    def d_elements(self) -> int:
        return self.m * 8 // 32


def accumulator(group: int, member: int, i: int) -> tuple[int, int]:
    """C and D have one layout for all shapes."""
    return group + (8 if i >= 2 else 0), member * 2 + (i & 1)


HALF_K8 = Shape(
    "m16n8k8",
    lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    lambda g, t, i: (t * 2 + i, g),
    4, 2,
)  # fmt: skip
HALF_K16 = Shape(
    "m16n8k16",
    lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (0 if i < 4 else 8)),
    lambda g, t, i: (t * 2 + (i & 1) + (0 if i < 2 else 8), g),
    8, 4,
)  # fmt: skip
TF32_K4 = Shape("m16n8k4", lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g), 2, 1)
TF32_K8 = Shape(
    "m16n8k8",
    lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    lambda g, t, i: (t if i == 0 else t + 4, g),
    4, 2,
)  # fmt: skip
DOUBLE_K4 = Shape("m8n8k4", lambda g, t, i: (g, t), lambda g, t, i: (t, g), 1, 1)
BYTE_M8 = Shape("m8n8k16", lambda g, t, i: (g, t * 4 + i), lambda g, t, i: (t * 4 + i, g), 4, 4)
BYTE_K16 = Shape(
    "m16n8k16", lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)), lambda g, t, i: (t * 4 + i, g), 8, 4
)
BYTE_K32 = Shape(
    "m16n8k32",
    lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (0 if i < 8 else 16)),
    lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g),
    16, 8,
)  # fmt: skip
NIBBLE_M8 = Shape("m8n8k32", lambda g, t, i: (g, t * 8 + i), lambda g, t, i: (t * 8 + i, g), 8, 8)
NIBBLE_K32 = Shape(
    "m16n8k32", lambda g, t, i: (g if i < 8 else g + 8, t * 8 + (i & 7)), lambda g, t, i: (t * 8 + i, g), 16, 8
)
NIBBLE_K64 = Shape(
    "m16n8k64",
    lambda g, t, i: (g if i < 8 or 16 <= i < 24 else g + 8, t * 8 + (i & 7) + (0 if i < 16 else 32)),
    lambda g, t, i: (t * 8 + (i & 7) + (0 if i < 8 else 32), g),
    32, 16,
)  # fmt: skip


@dataclass(frozen=True)
class Element:
    """A type of matrix elements: its width, and tensors of it as bits and back."""

    width: int
    to_bits: Callable[[torch.Tensor], torch.Tensor]
    to_values: Callable[[torch.Tensor], torch.Tensor]


def _float(dtype: torch.dtype, bits: torch.dtype, width: int) -> Element:
    return Element(width, lambda x: x.to(dtype).view(bits).long(), lambda b: b.to(bits).view(dtype).double())


def _integer(width: int, signed: bool) -> Element:
    high = 1 << (width - 1)
    return Element(width, lambda x: x.long() & (2 * high - 1), lambda b: ((b ^ high) - high if signed else b).double())


ELEMENTS = {
    "f16": _float(torch.float16, torch.int16, 16),
    "bf16": _float(torch.bfloat16, torch.int16, 16),
    "f32": _float(torch.float32, torch.int32, 32),
    "tf32": Element(
        32,
        lambda x: x.float().view(torch.int32).long() & ~0x1FFF,
        lambda b: b.to(torch.int32).view(torch.float32).double(),
    ),
    "f64": _float(torch.float64, torch.int64, 64),
    "e4m3": _float(torch.float8_e4m3fn, torch.uint8, 8),
    "e5m2": _float(torch.float8_e5m2, torch.uint8, 8),
    "s8": _integer(8, signed=True),
    "u8": _integer(8, signed=False),
    "s4": _integer(4, signed=True),
    "u4": _integer(4, signed=False),
    "s32": _integer(32, signed=True),
}


def spread(matrix: torch.Tensor, place: Place, elements: int, width: int, register: int) -> Bits:
    """Bits of a matrix → registers, lane after lane."""
    out = []
    for lane in range(32):
        held = [int(matrix[place(lane // 4, lane % 4, i)]) & ((1 << width) - 1) for i in range(elements)]
        per_register = register // width
        for first in range(0, elements, per_register):
            out.append(sum(bits << (width * i) for i, bits in enumerate(held[first : first + per_register])))
    return np.array(out, dtype=np.uint64)


def gathered(
    registers: npt.NDArray[Any], place: Place, elements: int, width: int, rows: int, columns: int
) -> torch.Tensor:
    """The opposite of `spread`."""
    matrix = torch.zeros(rows, columns, dtype=torch.long)
    per_lane = len(registers) // 32
    per_register = elements // per_lane
    for lane in range(32):
        for i in range(elements):
            bits = int(registers[lane * per_lane + i // per_register]) >> (width * (i % per_register)) & (
                (1 << width) - 1
            )
            matrix[place(lane // 4, lane % 4, i)] = bits - (1 << 64 if bits >> 63 else 0)
    return matrix

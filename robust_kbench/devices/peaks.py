"""Upper bounds of a device: what no kernel on it can beat, and how little time they leave a piece of work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from robust_kbench.schema.task import FloatDType, Precision

Unit = Literal["float64", "float32", "tf32", "float16", "bfloat16", "fp8"]

_HALF_PRODUCTS_PER_FLOAT32 = 3
"""A float32 is two halves; of their four products the smallest is dropped. Of six 8-bit products, the same time."""
_BYTE_PRODUCTS_PER_FLOAT64 = 28
"""Seven 8-bit slices of 53 bits and more, whose products below the diagonal are dropped."""


@dataclass(frozen=True)
class Floor:
    """The least time that a piece of work can take, and which of its two costs sets it."""

    ns: float
    by: Literal["flops", "bytes"]


@dataclass(frozen=True)
class Peaks:
    """Bounds of one device: bytes/s from and to its memory, flop/s of dense products, bytes of its last-level cache."""

    source: str
    bytes_per_s: float
    flops_per_s: Mapping[Unit, float]
    cache_bytes: int

    def highest_flops_per_s(self, dtype: FloatDType, contract: Precision) -> float:
        """The highest rate at which operations on `dtype` can be done within the precision contract; 0.0 when unknown.

        Higher than the unit's that is named after the dtype, because narrower units can do its work honestly: float32
        as three products of halves (or six of bytes), float64 as 28 of bytes. A contract that lets inputs be rounded
        to TF32 lets them be halves, of as many bits, once scaled.
        """
        half = max(self._of("float16"), self._of("bfloat16"))
        byte = max(self._of("fp8"), 2 * half)
        if contract == "fp8":
            return byte
        if dtype == "float64":
            return max(self._of("float64"), byte / _BYTE_PRODUCTS_PER_FLOAT64)
        own = max(self._of("float32"), self._of("float64"))
        if dtype == "float32" and contract == "ieee":
            return max(own, half / _HALF_PRODUCTS_PER_FLOAT32)
        return max(own, half, self._of("tf32"))

    def floor(self, flops: int, moved_bytes: int, dtype: FloatDType, contract: Precision = "ieee") -> Floor:
        """The larger of two times: of `flops` at the highest rate, and of `moved_bytes` at full bandwidth."""
        rate = self.highest_flops_per_s(dtype, contract)
        computing_ns = 1e9 * flops / rate if rate else 0.0
        moving_ns = 1e9 * moved_bytes / self.bytes_per_s
        return Floor(computing_ns, "flops") if computing_ns > moving_ns else Floor(moving_ns, "bytes")

    def _of(self, unit: Unit) -> float:
        return self.flops_per_s.get(unit, 0.0)

"""Small random generator whose sequence no library version can change: SHA-256 in counter mode."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Draw:
    """Reproducible choices from a seed and a label; different labels give independent streams."""

    def __init__(self, seed: int, label: str = "") -> None:
        self._key = f"{seed}:{label}:".encode()
        self._count = 0

    def bits(self, count: int = 63) -> int:
        """Draw a uniform integer of `count` bits, at most 256."""
        self._count += 1
        digest = hashlib.sha256(self._key + str(self._count).encode()).digest()
        return int.from_bytes(digest, "little") & ((1 << count) - 1)

    def unit(self) -> float:
        """Draw a uniform number in [0, 1)."""
        return self.bits(53) / 2**53

    def below(self, bound: int) -> int:
        """Draw a uniform integer in [0, bound); the bias of the remainder is below 2**-190."""
        return self.bits(256) % bound

    def choice(self, items: Sequence[Item]) -> Item:
        """Draw one of `items`, each as likely as the others."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return all of `items` in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(len(rest))]

    def log_uniform(self, low: int, high: int) -> int:
        """Draw an integer in [low, high], small ones as likely as large ones on a logarithmic scale."""
        return min(
            high, max(low, round(math.exp(math.log(low or 1) + self.unit() * math.log((high or 1) / (low or 1)))))
        )

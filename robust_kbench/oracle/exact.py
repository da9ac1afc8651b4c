"""Exact equality: copies, gathers, comparisons, sorted values, integers, and probes whose result is representable."""

from __future__ import annotations

import torch

from robust_kbench.oracle.judgement import Judgement

LIMIT = 0.5
"""Limit between no wrong element and one."""
_BLOCK_ELEMENTS = 1 << 20


class Exact:
    """Standard that every element equals `expected`, which has the answer's dtype. NaN equals NaN, and -0 equals 0."""

    def __init__(self, expected: torch.Tensor) -> None:
        self._expected = expected

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Compute one error: the number of elements that differ."""
        wrong = 0 if torch.equal(answer, self._expected) else self._count(answer)
        return Judgement((float(wrong),), (LIMIT,), 0, "every element must be equal" if wrong else "")

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark elements that are neither equal nor NaN in both."""
        return _differs(answer, self._expected)

    def _count(self, answer: torch.Tensor) -> int:
        got, expected = answer.reshape(-1), self._expected.reshape(-1)
        starts = range(0, got.numel(), _BLOCK_ELEMENTS)
        blocks = [slice(start, start + _BLOCK_ELEMENTS) for start in starts]
        return sum(int(_differs(got[block], expected[block]).sum()) for block in blocks)


def _differs(answer: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    differs = answer != expected
    if not answer.dtype.is_floating_point:
        return differs
    return differs & ~(answer.isnan() & expected.isnan())

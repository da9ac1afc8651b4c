"""Rows whose elements have one divisor in common, as a softmax's: without it they are right to a few units.

The rule's limits grow with the square root of the row's length, since the divisor is a sum. The elements beside it have
no part in that: what is coarse in them would hide behind long rows. With q = y / r, elementwise, and q' its median in
the row,

    |q / q' - 1| <= (12 + 4 |log(r / max r)| + 2 max |x|) u,   or twice what PyTorch is off by, u = 2**-24

Twelve are room for a fast exponential, a difference and a division; an exponential's error grows with its argument,
which is a difference of inputs x, or of products with them, in the row.
"""

from __future__ import annotations

import torch

from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.three_metrics import UNIT_ROUNDOFF, ThreeMetrics

_ROUNDINGS, _BY_ARGUMENT, _BY_INPUT = 12.0, 4.0, 2.0
_LEAST = 2.0**-100  # smaller numbers may have been flushed to zero on the way
_EXCUSED = 2.0


class SharedDivisor:
    """Holds answers in float32 to the rule `held`, and what they are off by within a row to its roundings."""

    def __init__(self, held: ThreeMetrics, exact: torch.Tensor, x: torch.Tensor, native: torch.Tensor | None) -> None:
        """`exact` is float64; `x` are the arguments, row by row, and `native` is PyTorch's answer."""
        self._held, self._exact = held, exact
        counts = exact.abs() >= _LEAST
        largest = exact.abs().amax(-1, keepdim=True) if exact.numel() else exact
        argument = (exact.abs() / largest).log().abs()
        inputs = x.abs().amax(-1, keepdim=True).double() if x.numel() else x
        limit = (_ROUNDINGS + _BY_ARGUMENT * argument + _BY_INPUT * inputs) * UNIT_ROUNDOFF[torch.float32]
        self._limit = torch.where(counts & limit.isfinite(), limit, torch.inf)
        self._slack = 1.0
        if native is not None:
            self._slack = max(1.0, _EXCUSED * self._worst(native))

    def judge(self, answer: torch.Tensor) -> Judgement:
        """The three errors, and by how many limits elements of a row are apart."""
        found, apart = self._held.judge(answer), self._worst(answer)
        demand = found.demand
        if not demand and apart > self._slack:
            demand = f"off within rows, which have one divisor: by {apart:.2g} times their roundings"
        return Judgement((*found.errors, apart), (*found.limits, self._slack), found.nonfinite, demand)

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Elementwise, by either rule."""
        return self._held.is_wrong(answer) | (self._apart(answer) > self._slack)

    def _worst(self, answer: torch.Tensor) -> float:
        return float(self._apart(answer).amax()) if answer.numel() else 0.0

    def _apart(self, answer: torch.Tensor) -> torch.Tensor:
        """Of each element, in limits; zero where nothing can be said."""
        quotient = answer.double() / self._exact
        middle = torch.where(self._limit.isfinite(), quotient, torch.nan).nanmedian(-1, keepdim=True).values
        return ((quotient / middle - 1.0).abs() / self._limit).nan_to_num(0.0, 0.0, 0.0)

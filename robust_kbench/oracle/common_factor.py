"""Outputs that are an input times one factor for all elements, as clipped gradients are: the factor is a sum's.

An error of the factor is the same everywhere, where errors of rounding are not. With e the error and r the exact
answer, <e, r> / <r, r> is the factor's error, in which n roundings average out:

    |<e, r> / <r, r>| <= 2 (b - u) + 8 u / sqrt(3 n),   or twice what PyTorch's factor is off by

b is the rule's, so that b - u is what a sum in float32 may be off by; n = <r, r>**2 / <r**2, r**2> is how many elements
there are, if all are of one size.
"""

from __future__ import annotations

import math

import torch

from robust_kbench.cases.contract import Rounding
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.three_metrics import UNIT_ROUNDOFF, ThreeMetrics

_HEADROOM, _DEVIATIONS, _EXCUSED = 2.0, 8.0, 2.0


class CommonFactor:
    """Holds answers to the rule `held`, and the factor that all elements have in common to what its sum is off by."""

    def __init__(
        self,
        held: ThreeMetrics,
        exact: torch.Tensor,
        native: torch.Tensor | None,
        *,
        dtype: torch.dtype,
        reduction: int,
        allowed: Rounding,
    ) -> None:
        """`exact` is float64; `native` is PyTorch's answer. `reduction`: terms of the sum behind the factor."""
        self._held = held
        self._is_known = exact.abs() <= torch.finfo(dtype).max / 2
        self._exact = exact.double().masked_fill(~self._is_known, 0.0)
        squares = self._exact.square()
        self._norm = float(squares.sum())
        fourth = float(squares.square().sum())
        self._limit = math.inf
        if 0.0 < fourth < math.inf and self._norm < math.inf:
            count = self._norm**2 / fourth
            summing = 2 * _HEADROOM * math.sqrt(reduction) * allowed.sum + 2 * allowed.factor
            own = 0.0 if native is None else _EXCUSED * self._off_by(native)
            self._limit = max(summing + _DEVIATIONS * UNIT_ROUNDOFF[dtype] / math.sqrt(3 * count), own)

    def judge(self, answer: torch.Tensor) -> Judgement:
        """The three errors, and the factor's."""
        found = self._held.judge(answer)
        if not math.isfinite(self._limit):
            return found
        off = self._off_by(answer)
        demand = found.demand
        if not demand and off > self._limit:
            demand = f"the factor that all elements have in common is off by {off:.2g}, allowed {self._limit:.2g}"
        return Judgement((*found.errors, off), (*found.limits, self._limit), found.nonfinite, demand)

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Elementwise, by the rule; all of them, where the factor is wrong."""
        wrong = self._held.is_wrong(answer)
        return wrong if self._off_by(answer) <= self._limit else torch.ones_like(wrong)

    def _off_by(self, answer: torch.Tensor) -> float:
        values = torch.where(self._is_known & answer.isfinite(), answer.double(), self._exact)
        return abs(float(((values - self._exact) * self._exact).sum())) / self._norm if self._norm else 0.0

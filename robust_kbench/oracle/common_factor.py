"""Outputs that are an input times one factor for all elements, as clipped gradients are: the factor is a sum's.

An error of the factor is the same everywhere, where errors of rounding are not. With e the error and r the exact
answer, <e, r> / <r, r> is the factor's error, in which n roundings average out:

    |<e, r> / <r, r>| <= 2 (b - u) + 8 u / sqrt(3 n),   or twice what PyTorch's factor is off by

b is the rule's, so that b - u is what a sum in float32 may be off by; n = <r, r>**2 / <r**2, r**2> is how many elements
there are, if all are of one size. The factor may have been rounded to the tensor's dtype, as PyTorch rounds a scalar
tensor that it multiplies by: then the same holds around what that changes.
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
        multiplied: torch.Tensor,
        native: torch.Tensor | None,
        *,
        dtype: torch.dtype,
        reduction: int,
        allowed: Rounding,
    ) -> None:
        """`exact` is float64, and `multiplied` times a factor; `native` is PyTorch's answer.

        `reduction`: terms of the sum behind the factor.
        """
        self._held = held
        self._is_known = exact.abs() <= torch.finfo(dtype).max / 2
        self._exact = exact.double().masked_fill(~self._is_known, 0.0)
        squares = self._exact.square()
        self._norm = float(squares.sum())
        fourth = float(squares.square().sum())
        self._limit, self._rounded_by = math.inf, 0.0
        if 0.0 < fourth < math.inf and self._norm < math.inf:
            count = self._norm**2 / fourth
            summing = 2 * _HEADROOM * math.sqrt(reduction) * allowed.sum + 2 * allowed.factor
            self._rounded_by = self._rounding_of_the_factor(multiplied.double(), dtype)
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
        """The smaller error of the factor: against the exact one, or against that rounded to the dtype."""
        values = torch.where(self._is_known & answer.isfinite(), answer.double(), self._exact)
        off = float(((values - self._exact) * self._exact).sum()) / self._norm if self._norm else 0.0
        return min(abs(off), abs(off - self._rounded_by))

    def _rounding_of_the_factor(self, multiplied: torch.Tensor, dtype: torch.dtype) -> float:
        """Give the relative change of the exact factor that a rounding to `dtype` makes."""
        factor = self._norm / float((self._exact * multiplied.masked_fill(~self._is_known, 0.0)).sum())
        return float(torch.tensor(factor, dtype=torch.float64).to(dtype).double()) / factor - 1

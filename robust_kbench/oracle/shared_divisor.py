"""Rows whose elements have one divisor in common, as a softmax's: without it they are right to a few units.

The rule's limits grow with the square root of the row's length, since the divisor is a sum. The elements beside it have
no part in that: what is coarse in them would hide behind long rows. With q = y / r, elementwise, and q' its median in
the row,

    |q / q' - 1| <= (12 + 4 |log(r / max r)| + 2 max |x|) u,   or twice what PyTorch is off by, u = 2**-24

Twelve are room for a fast exponential, a difference and a division; an exponential's error grows with its argument,
which is a difference of inputs x, or of products with them, in the row.

Relative errors are small numbers: once they are found in float64, float32 is enough for them, and three times as fast.
"""

from __future__ import annotations

from functools import cached_property

import torch

from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.three_metrics import UNIT_ROUNDOFF, ThreeMetrics

_ROUNDINGS, _BY_ARGUMENT, _BY_INPUT = 12.0, 4.0, 2.0
_LEAST = 2.0**-100  # smaller numbers may have been flushed to zero on the way
_EXCUSED = 2.0
_FAR = 1e30  # float32 holds it, and no more
_PLAINLY_NEAR = 0.5  # of the limit: what PyTorch is off by changes nothing


class SharedDivisor:
    """Holds answers in float32 to the rule `held`, and what they are off by within a row to its roundings."""

    def __init__(self, held: ThreeMetrics, exact: torch.Tensor, x: torch.Tensor, native: torch.Tensor | None) -> None:
        """`exact` is float64; `x` are the arguments, row by row, and `native` is PyTorch's answer."""
        self._held, self._exact, self._native = held, exact, native
        size = exact.abs()
        largest = size.amax(-1, keepdim=True) if exact.numel() else exact
        argument = (size / largest).float().log_().abs_()
        inputs = x.abs().amax(-1, keepdim=True).float() if x.numel() else x.float()
        limit = (_BY_ARGUMENT * argument).add_(_ROUNDINGS + _BY_INPUT * inputs).mul_(UNIT_ROUNDOFF[torch.float32])
        self._limit = torch.where((size >= _LEAST) & limit.isfinite(), limit, torch.inf)

    def judge(self, answer: torch.Tensor) -> Judgement:
        """The three errors, and by how many limits elements of a row are apart."""
        found, apart = self._held.judge(answer), self._worst(answer)
        slack = 1.0 if apart <= _PLAINLY_NEAR else self._slack
        demand = found.demand
        if not demand and apart > slack:
            demand = f"off within rows, which have one divisor: by {apart:.2g} times their roundings"
        return Judgement((*found.errors, apart), (*found.limits, slack), found.nonfinite, demand)

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Elementwise, by either rule."""
        return self._held.is_wrong(answer) | (self._apart(answer) > self._slack)

    @cached_property
    def _slack(self) -> float:
        """Limits that are allowed: more than one where PyTorch is off by as much."""
        return 1.0 if self._native is None else max(1.0, _EXCUSED * self._worst(self._native))

    def _worst(self, answer: torch.Tensor) -> float:
        return float(self._apart(answer).amax()) if answer.numel() else 0.0

    def _apart(self, answer: torch.Tensor) -> torch.Tensor:
        """Distance of each element from its row's median, in limits; zero where nothing can be said."""
        error = answer.double().sub_(self._exact).div_(self._exact).clamp_(-_FAR, _FAR).float()
        middle = torch.where(self._limit.isfinite(), error, torch.nan).nanmedian(-1, keepdim=True).values
        return error.sub_(middle).div_(1.0 + middle).abs_().div_(self._limit).nan_to_num_(0.0, 0.0, 0.0)

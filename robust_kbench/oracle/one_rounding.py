"""Sums in half precision: a value that is accurate to float32 has to lie within one rounding of the answer.

Where few results are made of many numbers, a loss or a norm, kernels keep sums in float32 and round once. The rule has
room for four roundings, which hides a loss of every second row. So the answer's distance from the exact one, less half
a unit in the last place, is held to the rule as well, as if the result were float32:

    |e'| = max(0, |e| - ulp(r) / 2),   limits of float32, widened by 2 u / sqrt(K) and twice PyTorch's own |e'|

K is the reduction length. A kernel that rounds its K terms before it adds them is off by some u / sqrt(K) more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from robust_kbench.cases.contract import Rounding
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.three_metrics import UNIT_ROUNDOFF, ThreeMetrics, Triple

MOST_RESULTS = 1 << 12
"""Most elements of an output. For so few, PyTorch's error is known from several neighbours of the case."""
LEAST_TERMS = 32
"""Least reduction length, and least elements of the largest input for each of the output."""
_ROOM = 2.0


def is_one_rounding(dtype: torch.dtype, elements: int, given: int, terms: int, allowed: Rounding) -> bool:
    """Tell if few results in half precision are made of many terms, whose sums the contract keeps in float32.

    `given`: elements of the largest input.
    """
    is_kept = allowed.sum <= 2.0**-24 and allowed.factor == 0.0
    are_few = elements <= min(MOST_RESULTS, given // LEAST_TERMS)
    return dtype.itemsize == 2 and is_kept and are_few and terms >= LEAST_TERMS


class OneRounding:
    """Standard that holds answers to the rule `held`.

    It holds their error beyond one rounding to the rule for float32.
    """

    def __init__(
        self,
        held: ThreeMetrics,
        exact: torch.Tensor,
        native: torch.Tensor | None,
        *,
        dtype: torch.dtype,
        reduction: int,
        nearby: Sequence[tuple[torch.Tensor, torch.Tensor]],
    ) -> None:
        """Derive the limits.

        `exact` is float64; `native` is PyTorch's answer and `nearby` pairs of both, as for ThreeMetrics.
        """
        self._held, self._exact, self._dtype = held, exact.double(), dtype
        room = _ROOM * UNIT_ROUNDOFF[dtype] / math.sqrt(reduction)
        pairs = [*nearby, *([] if native is None else [(exact, native)])]
        freed = [(near, _before_rounding(answer, near)) for near, answer in pairs]
        target = _representable(self._exact, dtype)
        own = ThreeMetrics(target, None, dtype=torch.float32, reduction=reduction, nearby=freed).limits
        first, second, third = (limit + room for limit in own)
        limits: Triple = first, second, third
        self._freed = ThreeMetrics(target, None, dtype=torch.float32, reduction=reduction, limits=limits)

    @property
    def limits(self) -> Triple:
        """Limits of the rule `held` alone."""
        return self._held.limits

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Compute the three errors, and by how many limits of float32 the answer is off beyond one rounding."""
        found = self._held.judge(answer)
        beyond = self._freed.judge(_before_rounding(answer, self._exact)).ratio
        demand = found.demand
        if not demand and beyond > 1.0:
            demand = f"off by more than the last rounding: {beyond:.2g} times what sums in float32 may be off by"
        return Judgement((*found.errors, beyond), (*found.limits, 1.0), found.nonfinite, demand)

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark elements that are wrong by either rule."""
        return self._held.is_wrong(answer) | self._freed.is_wrong(_before_rounding(answer, self._exact))


def _representable(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Replace numbers that the dtype does not have by zero: there the rule alone decides."""
    return exact.masked_fill(~(exact.abs() <= torch.finfo(dtype).max), 0.0)


def _before_rounding(answer: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Compute the value next to `exact` that rounds to `answer`, in float64; `exact` itself if either is no number."""
    wide, exact = answer.double(), exact.double()
    info = torch.finfo(answer.dtype)
    _, exponent = torch.frexp(torch.maximum(wide.abs(), exact.abs()).clamp(min=info.smallest_normal))
    half_ulp = torch.ldexp(torch.full_like(exact, info.eps / 4), exponent)  # of a fraction in [1/2, 1)
    error = wide - exact
    value = exact + error.sign() * (error.abs() - half_ulp).clamp(min=0.0)
    is_number = wide.isfinite() & (exact.abs() <= info.max)
    return torch.where(is_number, value, _representable(exact, answer.dtype))

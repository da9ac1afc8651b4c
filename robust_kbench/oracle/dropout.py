"""Dropout by its distribution: kept elements are x / (1 - p) by the rule, and dropped ones look like fair coins.

An output is dropped where it is zero and its input is not. The number of kept elements must be binomial; neighbours in
the mask, at distances that kernels have a reason to repeat themselves at, must not be correlated along any axis. Both
are given as the number of standard deviations of a normal distribution that is as improbable, at most 6; of the
correlations the largest counts, and its probability is multiplied by the number of those that were looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from robust_kbench.oracle import tails
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.three_metrics import ThreeMetrics

MAX_DEVIATIONS = 6.0
_LAGS = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_EXPECTED_PAIRS = 200  # of the rarer kind on both ends; with fewer the normal approximation is off in its tails
_LOOKED_AT = 1 << 21  # elements whose correlations are measured, the first ones


class Dropout:
    """Standard that holds answers to dropout of `x` with probability `p`: each element is zero, or x / (1 - p)."""

    def __init__(self, x: torch.Tensor, p: float) -> None:
        self._x, self._p = x, p
        self._scaled = x.double() / (1 - p) if p < 1 else torch.zeros_like(x, dtype=torch.float64)
        self._is_visible = (x != 0) & x.isfinite()

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Compute three errors: of kept values in units of the rule's limit, of their number, of their correlation."""
        values = self._rule(answer).judge(answer)
        kept = answer != 0
        seen = int((kept & self._is_visible).sum()), int(self._is_visible.sum())
        count = tails.deviations(tails.binomial(*seen, 1 - self._p)) if seen[1] else 0.0
        correlation = self._correlation(kept)
        demand = values.demand if not values.is_accepted else _demand(count, correlation)
        return Judgement(
            (values.ratio, count, correlation), (1.0, MAX_DEVIATIONS, MAX_DEVIATIONS), values.nonfinite, demand
        )

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark elements that are neither dropped nor x / (1 - p)."""
        return self._rule(answer).is_wrong(answer)

    def _rule(self, answer: torch.Tensor) -> ThreeMetrics:
        exact = torch.where(answer == 0, 0.0, self._scaled)  # dropped, be it a NaN
        return ThreeMetrics(exact, None, dtype=answer.dtype, reduction=1, placement="contain")

    def _correlation(self, kept: torch.Tensor) -> float:
        """Compute the correlation along the worst axis at the worst lag, in deviations."""
        if not 0 < self._p < 1 or kept.dim() == 0:
            return 0.0
        rows = max(1, _LOOKED_AT // max(1, math.prod(kept.shape[1:])))
        visible = self._is_visible[:rows]
        signal = torch.where(visible, kept[:rows].float() - (1 - self._p), 0.0)
        likely = [tails.normal(value) for value in _correlations(signal, visible, self._p)]
        return tails.deviations(min([1.0, *(len(likely) * probability for probability in likely)]))


def _correlations(signal: torch.Tensor, visible: torch.Tensor, p: float) -> Iterator[float]:
    """Compute the correlations along every axis at every lag that has enough pairs, normalised to deviations."""
    for axis, size in enumerate(signal.shape):
        for lag in (lag for lag in _LAGS if lag < size):
            ends = [
                (part.narrow(axis, 0, size - lag), part.narrow(axis, lag, size - lag)) for part in (signal, visible)
            ]
            pairs = int((ends[1][0] & ends[1][1]).sum())
            if pairs * min(p, 1 - p) ** 2 >= _EXPECTED_PAIRS:
                yield float((ends[0][0] * ends[0][1]).sum(dtype=torch.float64)) / (p * (1 - p) * math.sqrt(pairs))


def _demand(count: float, correlation: float) -> str:
    found = []
    if count > MAX_DEVIATIONS:
        found.append(f"the number of kept elements is {count:.3g} standard deviations off")
    if correlation > MAX_DEVIATIONS:
        found.append(f"the mask repeats itself: correlated by {correlation:.3g} standard deviations")
    return "; ".join(found) + (f", allowed {MAX_DEVIATIONS:g}" if found else "")

"""Masks of dropout that repeat themselves in a call, or those of calls with other seeds, over a whole evaluation.

Within a call, and between calls with the same p, equal `stretches` are counted. Masks of different p are not equal even
where their random numbers are: so the first places of each call are correlated with those of earlier calls.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from dataclasses import dataclass

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle import stretches
from robust_kbench.oracle.seeds import LEAST_PAIRS, MOVED_DEVIATIONS

_LEAST_SHARE = 0.01
"""Least share of a mask that has to repeat. Two of thousands of rows may have generators that begin alike by chance."""
_LEAST_CALLS = 2
"""Least number of calls that have to repeat others. Two seeds may once have been the same to a generator of 32 bits."""
_MOST_COMPARED, _MOST_KEPT = 1 << 16, 1 << 12
"""Stretches of a call that are compared with each other, and with those of later calls."""
_MOST_ELEMENTS = 1 << 24
_FIRST_PLACES = 1 << 14
_MOST_CALLS = 128


@dataclass(frozen=True)
class _First:
    """First places of a call. `signal`: the kept elements, with mean 0, where they are visible; 0 elsewhere."""

    signal: torch.Tensor
    is_visible: torch.Tensor
    p: float


class CopiedMasks:
    """Masks of one kernel in all calls with different seeds; `problem` is the first that was found."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self._stretches: dict[float, list[torch.Tensor]] = defaultdict(list)
        self._copies = 0
        self._firsts: dict[int, deque[_First]] = defaultdict(lambda: deque(maxlen=_MOST_CALLS))

    def add(self, inputs: Inputs, answer: torch.Tensor) -> str | None:
        """Add the mask of a call. Tell what is wrong with the masks so far, or return None."""
        x, p = inputs.tensors["x"].flatten(), float(inputs.values["p"])
        kept, is_visible = answer.flatten() != 0, (x != 0) & x.isfinite()
        if self.problem is None and 0 < p < 1 and len(x):
            self.problem = self._repeats(kept[:_MOST_ELEMENTS], is_visible[:_MOST_ELEMENTS], p)
            self.problem = self.problem or self._goes_with_another(kept, is_visible, p)
        return self.problem

    def _repeats(self, kept: torch.Tensor, is_visible: torch.Tensor, p: float) -> str | None:
        length = stretches.length_for(p)
        if length is None:
            return None
        numbers, places = stretches.sketch(kept, is_visible, length, _MOST_COMPARED)
        share, one, other = stretches.copies(numbers, places)
        if share >= _LEAST_SHARE:
            return (
                f"the mask repeats itself: {100 * share:.3g} % of its stretches of {length:,} places have been there "
                f"before in the same call, as the one from place {other:,} on is the one from {one:,} on; 0 % are due"
            )
        mine, before = stretches.thin(numbers, len(kept), _MOST_KEPT), self._stretches[p]
        if before and len(mine) and float(torch.isin(mine, torch.cat(before)).float().mean()) >= _LEAST_SHARE:
            self._copies += 1
        before.append(mine)
        if self._copies >= _LEAST_CALLS:
            return f"{self._copies} calls have dropped what earlier ones with other seeds have; 0 are due"
        return None

    def _goes_with_another(self, kept: torch.Tensor, is_visible: torch.Tensor, p: float) -> str | None:
        before = self._firsts[len(kept)]
        kept, is_visible = kept[:_FIRST_PLACES], is_visible[:_FIRST_PLACES]
        mine = _First(torch.where(is_visible, kept.float() - (1 - p), 0.0), is_visible.float(), p)
        deviations = max((_deviations(mine, other) for other in before), default=0.0)
        before.append(mine)
        if deviations <= MOVED_DEVIATIONS:
            return None
        return (
            f"what is dropped goes with what an earlier call with another seed has dropped: correlated by "
            f"{deviations:.0f} standard deviations, allowed {MOVED_DEVIATIONS:g}"
        )


def _deviations(one: _First, other: _First) -> float:
    """Compute the correlation place by place, in deviations; 0 where there is too little to tell, see seeds."""
    pairs = float(one.is_visible @ other.is_visible)
    rarer = min(one.p, 1 - one.p) * min(other.p, 1 - other.p)
    if pairs * rarer < LEAST_PAIRS:
        return 0.0
    scatter = pairs * one.p * (1 - one.p) * other.p * (1 - other.p)
    return abs(float(one.signal @ other.signal)) / math.sqrt(scatter)

"""Indices in any order among equal values: they must be in range, distinct and point at the right values."""

from __future__ import annotations

import torch

from robust_kbench.oracle.exact import LIMIT
from robust_kbench.oracle.judgement import Judgement


class Indices:
    """Indices into `source` along `axis` that must point at the values that `exact`, the reference's, points at.

    An output without that axis, as an argmax returns, holds one index per slice.
    """

    def __init__(self, source: torch.Tensor, axis: int, exact: torch.Tensor) -> None:
        self._source, self._axis, self._shape = source, axis % source.dim(), exact.shape
        self._lacks_axis = exact.dim() < source.dim()
        self._values = source.gather(self._axis, self._expanded(exact))

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Compute one error: the number of wrong indices."""
        wrong = int(self.is_wrong(answer).sum())
        demand = "indices must be in range, distinct, and point at the right values" if wrong else ""
        return Judgement((float(wrong),), (LIMIT,), 0, demand)

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark indices that are out of range, repeat an earlier one, or point at another value."""
        index = self._expanded(answer)
        is_outside = (index < 0) | (index >= self._source.shape[self._axis])
        found = self._source.gather(self._axis, index.masked_fill(is_outside, 0))
        differs = (found != self._values) & ~(found.isnan() & self._values.isnan())
        return (is_outside | differs | self._is_repeated(index)).reshape(self._shape)

    def _is_repeated(self, index: torch.Tensor) -> torch.Tensor:
        """Mark repetitions: a stable sort puts them behind the first of their kind."""
        order = index.sort(dim=self._axis, stable=True)
        length = index.shape[self._axis]
        again = torch.zeros_like(index, dtype=torch.bool)
        if length > 1:
            later, earlier = (order.values.narrow(self._axis, start, length - 1) for start in (1, 0))
            again.narrow(self._axis, 1, length - 1).copy_(later == earlier)
        return torch.zeros_like(again).scatter_(self._axis, order.indices, again)

    def _expanded(self, index: torch.Tensor) -> torch.Tensor:
        wide = index.long()
        return wide.unsqueeze(self._axis) if self._lacks_axis else wide

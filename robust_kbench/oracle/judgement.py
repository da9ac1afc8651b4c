"""Judgements of outputs, and the methods that every standard has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch

RULE = "three-metric-v5"
"""Version of everything that decides about an output; raised whenever a published verdict can change, or, where that
concerns few tasks, their versions are."""


@dataclass(frozen=True)
class Judgement:
    """Errors of one output with their limits. `nonfinite` counts elements whose NaN or infinity is wrong.

    `demand` says in words what was broken, where the numbers alone do not.
    """

    errors: tuple[float, ...]
    limits: tuple[float, ...]
    nonfinite: int = 0
    demand: str = ""

    @property
    def ratio(self) -> float:
        """Largest error in units of its limit; infinite where a NaN or an infinity is out of place."""
        ratios = [error / limit for error, limit in zip(self.errors, self.limits, strict=True)]
        return math.inf if self.nonfinite or any(map(math.isnan, ratios)) else max(ratios)

    @property
    def is_refusal(self) -> bool:
        """Tell if there was nothing to compare, see `refusal`."""
        return math.inf in self.errors

    @property
    def is_accepted(self) -> bool:
        """Tell if every error is within its limit (a NaN never is)."""
        return self.nonfinite == 0 and all(e <= limit for e, limit in zip(self.errors, self.limits, strict=True))


class Standard(Protocol):
    """Requirements on one output of one case. Made once, used for many answers of the right shape and dtype."""

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Compute the errors of `answer`, with their limits."""

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark wrong elements. For reports, not for verdicts: an error may be spread over all of them."""


def refusal(demand: str) -> Judgement:
    """Judge an answer that cannot be compared: its error is infinite."""
    return Judgement((math.inf,), (1.0,), 0, demand)

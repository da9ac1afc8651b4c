"""Test if rows draw the classes of other rows more often than independent rows of their laws do.

It finds a sampler that never looks at most of the classes, even if each of them is too rare to be missed. Where calls
have few rows, that takes many calls.

Rows are independent, so that numbers of repeats of different classes are negatively associated (Dubhashi and Ranjan
1998, Balls and bins), and a class is drawn by rare events, whose number Poisson's law exceeds in every convex function
of it (Hoeffding 1956). That bounds E exp(tilt * repeats) for every tilt, from which Chernoff's inequality follows for
one call and, since their quotients multiply to a test martingale, Ville's (1939) for as many calls as there may be.
"""

from __future__ import annotations

import math

import torch

_TILTS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
_RARE = 0.25  # how often a class is expected in a call that is added to others


def evidence(drawn: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Compute for each tilt the logarithm of exp(tilt * repeats) over a bound of its expectation.

    `drawn`: [rows] classes. `expected`: [classes] float64, how often each is expected to be drawn.
    """
    repeats = len(drawn) - int(torch.bincount(drawn).count_nonzero())
    return torch.stack([tilt * repeats - _log_moments(expected, tilt).sum() for tilt in _TILTS])


def probability(found: torch.Tensor) -> float:
    """Compute an upper bound of the probability of as many repeats in a single call."""
    return math.exp(min(0.0, -float(found.max())))


def _log_moments(expected: torch.Tensor, tilt: float) -> torch.Tensor:
    """Compute for each class log E exp(tilt * max(0, N - 1)), where N has Poisson's law."""
    never = torch.tensor(math.log(-math.expm1(-tilt)), dtype=expected.dtype)
    return torch.logaddexp(never, expected * math.exp(tilt) - tilt) - expected


class Tally:
    """Evidence of all calls of one sampler with different seeds, in which every class is rare.

    Equal seeds give the same numbers, and add nothing. For a class that some row draws for certain, Poisson's law
    allows far too much. One such call would hide the evidence of many others. Its logits alone decide if a call counts.
    """

    def __init__(self) -> None:
        self._seeds: set[int] = set()
        self._found = torch.zeros(len(_TILTS), dtype=torch.float64)

    def add(self, seed: int, logits: torch.Tensor, drawn: torch.Tensor) -> float:
        """Add a call, and bound the probability that so many repeats, or more, would ever come up.

        `logits`: [..., classes], `drawn`: [...].
        """
        if seed not in self._seeds and drawn.numel():
            self._seeds.add(seed)
            expected = torch.softmax(logits.reshape(-1, logits.shape[-1]).double(), -1).sum(0)
            if float(expected.max()) < _RARE:
                self._found += evidence(drawn.reshape(-1), expected)
        return math.exp(min(0.0, math.log(len(_TILTS)) - float(torch.logsumexp(self._found, 0))))

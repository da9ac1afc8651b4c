"""Whether rows draw the classes of other rows more often than independent rows of their laws do.

A sampler that never looks at most of the classes gives itself away so when each of them is too rare to be missed, and
when a call has few rows, over many calls.

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
    """For each tilt: the logarithm of exp(tilt * repeats) over a bound of its expectation.

    `drawn`: [rows] classes. `expected`: [classes] float64, how often each is expected to be drawn.
    """
    repeats = len(drawn) - int(torch.bincount(drawn).count_nonzero())
    return torch.stack([tilt * repeats - _log_moments(expected, tilt).sum() for tilt in _TILTS])


def probability(found: torch.Tensor) -> float:
    """Of as many repeats in a single call, at most."""
    return math.exp(min(0.0, -float(found.max())))


def _log_moments(expected: torch.Tensor, tilt: float) -> torch.Tensor:
    """Of each class: log E exp(tilt * max(0, N - 1)), where N has Poisson's law."""
    never = torch.tensor(math.log(-math.expm1(-tilt)), dtype=expected.dtype)
    return torch.logaddexp(never, expected * math.exp(tilt) - tilt) - expected


class Tally:
    """Of all calls of one sampler with different seeds, in which every class is rare.

    Equal seeds give the same numbers, and add nothing. Of a class that some row draws for certain Poisson's law says
    far too much, and one such call would hide what many others show; which calls count depends on their logits alone.
    """

    def __init__(self) -> None:
        self._seeds: set[int] = set()
        self._found = torch.zeros(len(_TILTS), dtype=torch.float64)

    def add(self, seed: int, logits: torch.Tensor, drawn: torch.Tensor) -> float:
        """That so many repeats, or more, would ever come up, at most. `logits`: [..., classes], `drawn`: [...]."""
        if seed not in self._seeds and drawn.numel():
            self._seeds.add(seed)
            expected = torch.softmax(logits.reshape(-1, logits.shape[-1]).double(), -1).sum(0)
            if float(expected.max()) < _RARE:
                self._found += evidence(drawn.reshape(-1), expected)
        return math.exp(min(0.0, math.log(len(_TILTS)) - float(torch.logsumexp(self._found, 0))))

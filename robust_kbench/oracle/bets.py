"""Bets against a law: the probability of all samples if a kernel is wrong in a known way, over that if it is not.

Under the law the product of these quotients is a martingale of mean one, and so is any average of such products. It
ever exceeds 1 / e with a probability of at most e (Ville 1939), for any number of samples and any rule of when to stop.
So one average of all bets is a single test of everything that they bet on.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch


class Bet(ABC):
    """Bet on one way to be wrong. `gain`: the logarithm of the product so far; `share` says what it looks at."""

    gain: float

    @property
    @abstractmethod
    def share(self) -> tuple[str, float, float]:
        """Event, the number of samples that have shown it, and the number that is due."""


class Uneven(Bet):
    """Bets that numbers which should be uniform in [0, 1] are not, by the shares that fall into equal bins.

    The shares are averaged over all possible ones, with Dirichlet's law of parameter 1/2 (Krichevsky and Trofimov
    1981), so that nothing is assumed about them. `words`: the meaning of a number between {low} and {high}.
    """

    def __init__(self, bins: int, words: str) -> None:
        self._words = words
        self._counts = torch.zeros(bins, dtype=torch.float64)

    def add(self, counts: torch.Tensor) -> None:
        """Add `counts`, how many numbers that should be uniform fall into each bin."""
        self._counts += counts

    @property
    def gain(self) -> float:  # type: ignore[override]
        """Logarithm of the product. It depends on the counts alone, as the order of the samples says nothing."""
        bins, count = len(self._counts), float(self._counts.sum())
        likely = float((torch.lgamma(self._counts + 0.5) - math.lgamma(0.5)).sum())
        return likely + math.lgamma(bins / 2) - math.lgamma(count + bins / 2) + count * math.log(bins)

    @property
    def share(self) -> tuple[str, float, float]:
        """Event that a number falls into the bin that is furthest off, with the seen and the due number."""
        bins = len(self._counts)
        due = float(self._counts.sum()) / bins
        worst = int((self._counts - due).abs().argmax())
        return (
            self._words.format(low=_percent(worst / bins), high=_percent((worst + 1) / bins)),
            float(self._counts[worst]),
            due,
        )


@dataclass(frozen=True)
class Settled:
    """Gain that some samples bring to a bet on an event, and how often it has happened and should have happened."""

    gain: float
    seen: float
    due: float

    @classmethod
    def of(cls, quotients: torch.Tensor, happened: torch.Tensor, due: torch.Tensor) -> Settled:
        """Settle samples, given the log quotient of each, if its event happened, and the probability of that."""
        return cls(float(quotients.sum()), float(happened.sum()), float(due.expand(len(happened)).sum()))


def counted(places: torch.Tensor, bins: int) -> torch.Tensor:
    """Count numbers in [0, 1] by equal bins."""
    return torch.bincount((places * bins).long().clamp_(0, bins - 1), minlength=bins)


class Shifted(Bet):
    """Bets that an event is more or less frequent than is due."""

    def __init__(self, words: str) -> None:
        self._words = words
        self.gain = 0.0
        self._seen = self._due = 0.0

    def add(self, settled: Settled) -> None:
        """Add the gain and the counts of some samples."""
        self.gain += settled.gain
        self._seen += settled.seen
        self._due += settled.due

    @property
    def share(self) -> tuple[str, float, float]:
        """Event of the bet, with the seen and the due number."""
        return self._words, self._seen, self._due


def average(bets: list[Bet]) -> float:
    """Compute the logarithm of the mean of all products."""
    gains = torch.tensor([bet.gain for bet in bets], dtype=torch.float64)
    return float(torch.logsumexp(gains, 0)) - math.log(len(bets))


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"

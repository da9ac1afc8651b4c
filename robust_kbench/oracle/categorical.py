"""Check of one draw per row of a categorical distribution given by logits: samples must be allowed, their law right.

Each of these must have a probability of at least 1e-9, divided by the number of tests:

    by class: how often each class was drawn, summed over rows;
    by rank: the mass of likelier classes before the drawn one, a uniform number if the law is right;
    by place: the mass of classes with smaller indices before it, likewise;
    by repeats: how many rows drew a class that another one had drawn (see repeats).

A random share of the drawn class's own mass is added, so that ranks and places are uniform although classes are
discrete. Chi-squared on bins that expect at least ten samples sees a missing class, Kolmogorov's test a shift of all,
and repeats a sampler that never looks at most of the classes, although each of them is too rare to be missed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator

import torch

from robust_kbench.oracle import repeats, tails
from robust_kbench.oracle.exact import LIMIT
from robust_kbench.oracle.judgement import Judgement

MIN_PROBABILITY = 1e-9
_EXPECTATION = 10
_MAX_BINS = 100
_BLOCK_ELEMENTS = 1 << 20
_IMPOSSIBLE = 1e-6  # that any row draws a class less likely than this, shared among all rows and classes


class Categorical:
    """Standard that holds indices, one per row, to the softmax of `logits`, [..., classes]."""

    def __init__(self, logits: torch.Tensor) -> None:
        self._shape, self._logits = logits.shape[:-1], logits.reshape(-1, logits.shape[-1])

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Compute two errors: the number of samples that are not allowed, and how improbable the others are.

        The latter is the logarithm of the smallest probability, over that of the limit.
        """
        wrong = int(self.is_wrong(answer).sum())
        if wrong:
            return Judgement((float(wrong), 0.0), (LIMIT, 1.0), 0, "a class that is out of range or has no probability")
        tests = self._tests(answer.reshape(-1).long())
        probability = min([1.0, *(len(tests) * found for found in tests)])
        surprise = math.log(max(probability, tails.LEAST)) / math.log(MIN_PROBABILITY)
        demand = f"samples as far off as these have a probability of {probability:.1e}" if surprise > 1 else ""
        return Judgement((0.0, max(0.0, surprise)), (LIMIT, 1.0), 0, demand)

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark elements that are out of range, or so improbable that no row should have drawn them."""
        drawn = answer.reshape(-1).long()
        wrong = (drawn < 0) | (drawn >= self._logits.shape[1])
        least = _IMPOSSIBLE / max(1, self._logits.numel())
        for rows, law in self._laws():
            own = law.gather(1, drawn[rows, None].masked_fill(wrong[rows, None], 0))[:, 0]
            wrong[rows] |= ~(own >= least)
        return wrong.reshape(self._shape)

    def _laws(self) -> Iterator[tuple[slice, torch.Tensor]]:
        step = max(1, _BLOCK_ELEMENTS // max(1, self._logits.shape[1]))
        for start in range(0, len(self._logits), step):
            rows = slice(start, start + step)
            yield rows, torch.softmax(self._logits[rows].double(), -1)

    def _tests(self, drawn: torch.Tensor) -> list[float]:
        generator = torch.Generator().manual_seed(_seed_of(drawn))
        by_rank, by_place = torch.empty(2, len(drawn), dtype=torch.float64)
        expected = torch.zeros(self._logits.shape[1], dtype=torch.float64)
        for rows, law in self._laws():
            classes = drawn[rows, None]
            own = law.gather(1, classes)
            share = torch.rand(len(law), generator=generator, dtype=torch.float64)
            # Classes as likely as the drawn one share their mass: any of them may stand first.
            level = (law * (law == own)).sum(1)
            by_rank[rows] = (law * (law > own)).sum(1) + share * level
            by_place[rows] = (law * (torch.arange(law.shape[1]) < classes)).sum(1) + share * own[:, 0]
            expected += law.sum(0)
        by_law = (test(drawn, expected) for test in (_frequencies, _repeated))
        found = (*by_law, *(test(places) for places in (by_rank, by_place) for test in _UNIFORM))
        return [probability for probability in found if probability is not None]


def _seed_of(drawn: torch.Tensor) -> int:
    """Derive a seed from the answer. An honest sampler that is given a fixed seed may have used the same numbers."""
    return int.from_bytes(hashlib.sha256(drawn.numpy().tobytes()).digest()[:7], "little")


def _frequencies(drawn: torch.Tensor, expected: torch.Tensor) -> float | None:
    """Test how often each class was drawn; rare classes are taken together. None with fewer than two bins."""
    observed = torch.bincount(drawn, minlength=len(expected)).double()
    is_common = expected >= _EXPECTATION
    bins = [*zip(expected[is_common].tolist(), observed[is_common].tolist(), strict=True)]
    rest = float(expected[~is_common].sum()), float(observed[~is_common].sum())
    return _probability([*bins, rest] if rest[0] >= _EXPECTATION else bins)


def _repeated(drawn: torch.Tensor, expected: torch.Tensor) -> float:
    return repeats.probability(repeats.evidence(drawn, expected))


def _in_bins(places: torch.Tensor) -> float | None:
    """Test numbers that should be uniform in [0, 1], by how many fall into each of equal bins; None if too few."""
    count = min(_MAX_BINS, len(places) // _EXPECTATION)
    if count < 2:
        return None
    observed = torch.bincount((places * count).long().clamp_(0, count - 1), minlength=count)
    return _probability([(len(places) / count, float(number)) for number in observed])


def _on_the_whole(places: torch.Tensor) -> float | None:
    """Test numbers that should be uniform in [0, 1], by Kolmogorov's distance; None if they are too few.

    That is the largest distance between the cumulated shares.
    """
    if len(places) < 2 * _EXPECTATION:
        return None
    steps = torch.arange(len(places) + 1, dtype=torch.float64) / len(places)
    ordered = places.sort().values
    distance = float(torch.maximum((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))
    return tails.kolmogorov(distance, len(places))


_UNIFORM = (_in_bins, _on_the_whole)


def _probability(bins: list[tuple[float, float]]) -> float | None:
    """Compute the probability that chi-squared is as large as the bins' (expected, observed) deviations.

    None with fewer than two bins.
    """
    if len(bins) < 2:
        return None
    statistic = sum((observed - expected) ** 2 / expected for expected, observed in bins)
    return tails.chi_squared(statistic, len(bins) - 1)

"""Tail probabilities of statistics. scipy takes a quarter of a second to import, and only random ops need it."""

from __future__ import annotations

import math

LEAST = 1e-300
"""Least probability that is returned; smaller ones are given as this."""


def normal(deviations: float) -> float:
    """Compute the probability of a normal variable at least that many standard deviations off, to either side."""
    return max(LEAST, math.erfc(abs(deviations) / math.sqrt(2.0)))


def deviations(probability: float) -> float:
    """Invert `normal`: return the deviations of a probability, 37 for zero."""
    from scipy import special

    return abs(float(special.ndtri(max(probability, LEAST) / 2)))


def binomial(successes: int, count: int, share: float) -> float:
    """Compute twice the smaller tail of a binomial distribution, `successes` included; at most one."""
    from scipy import special

    at_most = float(special.bdtr(successes, count, share))
    at_least = float(special.bdtrc(successes - 1, count, share)) if successes else 1.0
    return min(1.0, 2 * min(at_most, at_least))


def chi_squared(statistic: float, degrees: int) -> float:
    """Compute the probability of a chi-squared variable of `degrees` degrees of freedom at least as large."""
    from scipy import special

    return float(special.chdtrc(degrees, statistic))


def kolmogorov(distance: float, count: int) -> float:
    """Compute the probability of so large a distance between `count` samples and their law, for 20 samples or more."""
    from scipy import special

    return float(special.kolmogorov(math.sqrt(count) * distance))

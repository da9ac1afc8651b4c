"""Simulated machines that slow down while they are measured: pairs in random order against one side after the other."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import ttest_ind

from robust_kbench.timing.statistics import Verdict, log_ratios, ratio

RUNS, SESSIONS, ROUNDS = 400, 5, 20
Times = npt.NDArray[np.float64]
Drift = Callable[[np.random.Generator, int], Times]


def _none(random: np.random.Generator, count: int) -> Times:
    return np.zeros(count)


def _linear(random: np.random.Generator, count: int) -> Times:
    return np.linspace(0, 0.015, count)


def _step(random: np.random.Generator, count: int) -> Times:
    return np.where(np.arange(count) > random.integers(count // 4, 3 * count // 4), 0.02, 0.0)


def _walk(random: np.random.Generator, count: int) -> Times:
    """An autoregressive one with a standard deviation of 1 %."""
    steps, state = random.normal(size=count) * 0.01 * math.sqrt(1 - 0.98**2), random.normal() * 0.01
    found = []
    for step in steps:
        state = 0.98 * state + step
        found.append(state)
    return np.array(found)


def calls(random: np.random.Generator, drift: Times) -> Times:
    """Nanoseconds of calls of one and the same kernel: 0.6 % of noise, and 3 % of them disturbed by 15 % on average."""
    outliers = np.where(random.random(len(drift)) < 0.03, random.exponential(0.15, len(drift)), 0)
    return np.asarray(1e6 * (1 + drift) * (1 + 0.006 * random.normal(size=len(drift)) + outliers))


def paired(random: np.random.Generator, drift: Drift) -> list[float]:
    """Log ratios of a session of pairs in random order."""
    times = calls(random, drift(random, 2 * ROUNDS)).reshape(ROUNDS, 2)
    swapped = random.random(ROUNDS) < 0.5
    one, other = np.where(swapped, times[:, 1], times[:, 0]), np.where(swapped, times[:, 0], times[:, 1])
    return log_ratios([int(t) for t in one], [int(t) for t in other])


@pytest.mark.parametrize("drift", [_none, _linear, _step, _walk])
def test_equal_kernels_on_a_drifting_machine_are_told_apart_in_at_most_seven_of_a_hundred_runs(drift: Drift) -> None:
    random = np.random.default_rng(20260101)
    found = [ratio([paired(random, drift) for _ in range(SESSIONS)]) for _ in range(RUNS)]
    assert sum(each.low > 1 or each.high < 1 for each in found) / RUNS <= 0.07
    assert all(each.verdict(0.005) not in (Verdict.FASTER, Verdict.SLOWER) for each in found[:100])


@pytest.mark.parametrize("drift", [_linear, _step, _walk])
def test_one_side_after_the_other_tells_equal_kernels_apart_in_a_third_of_the_runs_or_more(drift: Drift) -> None:
    random = np.random.default_rng(20260101)
    different = 0
    for _ in range(RUNS):
        times = calls(random, drift(random, 200))
        different += ttest_ind(times[:100], times[100:], equal_var=False).pvalue < 0.05
    assert different / RUNS >= 0.3


@pytest.mark.parametrize("drift", [_none, _linear, _step, _walk])
def test_a_kernel_five_percent_slower_is_told_apart_on_a_drifting_machine(drift: Drift) -> None:
    random = np.random.default_rng(20260101)
    shift = math.log(1.05)
    found = [
        ratio([[log - shift for log in paired(random, drift)] for _ in range(SESSIONS)]).verdict(0.005)
        for _ in range(100)
    ]
    assert found.count(Verdict.SLOWER) >= 95

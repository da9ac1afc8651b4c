from __future__ import annotations

import subprocess
import sys

import pytest
from scipy import stats

from robust_kbench.oracle import tails


@pytest.mark.parametrize("count", [0.0, 1.0, 5.0, 20.0])
def test_deviations_and_the_probability_of_a_normal_variable_are_inverse(count: float) -> None:
    assert tails.normal(count) == pytest.approx(2 * stats.norm.sf(count))
    assert tails.deviations(tails.normal(-count)) == pytest.approx(count, abs=1e-9)


def test_no_probability_is_too_small_for_a_number_of_deviations() -> None:
    assert tails.deviations(0.0) == pytest.approx(37.07, abs=0.01)
    assert tails.normal(100.0) == tails.LEAST


@pytest.mark.parametrize(("successes", "count", "share"), [(0, 10, 0.3), (3, 10, 0.3), (9, 10, 0.3), (10, 10, 0.3)])
def test_a_binomial_tail_holds_the_number_itself(successes: int, count: int, share: float) -> None:
    law = stats.binom(count, share)
    smaller = min(law.cdf(successes), law.sf(successes - 1))
    assert tails.binomial(successes, count, share) == pytest.approx(min(1.0, 2 * smaller))


@pytest.mark.parametrize(
    ("successes", "share", "probability"), [(10, 1.0, 1.0), (9, 1.0, 0.0), (0, 0.0, 1.0), (1, 0.0, 0.0)]
)
def test_what_is_certain_has_no_tails(successes: int, share: float, probability: float) -> None:
    assert tails.binomial(successes, 10, share) == probability


def test_the_other_tails_are_those_of_their_laws() -> None:
    assert tails.chi_squared(30.0, 9) == pytest.approx(stats.chi2.sf(30.0, 9))
    assert tails.kolmogorov(0.1, 400) == pytest.approx(stats.kstwobign.sf(2.0))


@pytest.mark.rotating
def test_judging_anything_else_imports_no_scipy() -> None:
    program = "import sys, robust_kbench.oracle.verdict; print([name for name in sys.modules if name == 'scipy'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr

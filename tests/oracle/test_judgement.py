from __future__ import annotations

import math

import pytest

from robust_kbench.oracle.judgement import Judgement, refusal


@pytest.mark.parametrize(
    ("judgement", "ratio", "is_accepted"),
    [
        (Judgement((1.0, 2.0, 3.0), (2.0, 2.0, 4.0)), 1.0, True),
        (Judgement((1.0, 2.1, 3.0), (2.0, 2.0, 4.0)), 1.05, False),
        (Judgement((0.0,), (0.5,)), 0.0, True),
        (Judgement((0.0,), (0.5,), nonfinite=1), math.inf, False),
        (Judgement((0.5, math.nan), (1.0, 1.0)), math.inf, False),
        (Judgement((math.nan, 0.5), (1.0, 1.0)), math.inf, False),
        (Judgement((math.inf,), (1.0,)), math.inf, False),
    ],
)
def test_the_worst_error_in_units_of_its_limit_decides(judgement: Judgement, ratio: float, is_accepted: bool) -> None:
    assert judgement.ratio == pytest.approx(ratio)
    assert judgement.is_accepted == is_accepted


def test_what_cannot_be_compared_is_refused_with_the_reason() -> None:
    judgement = refusal("missing")
    assert (judgement.is_accepted, judgement.ratio, judgement.demand) == (False, math.inf, "missing")

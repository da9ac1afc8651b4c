from __future__ import annotations

import math

import torch

from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.sampled import Together


def test_the_judgement_of_several_standards_is_the_worst_one() -> None:
    class Fixed:
        def __init__(self, *errors: float, nonfinite: int = 0) -> None:
            self._judgement = Judgement(errors, (1.0,) * len(errors), nonfinite)

        def judge(self, answer: torch.Tensor) -> Judgement:
            return self._judgement

        def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
            return torch.full(answer.shape, not self._judgement.is_accepted)

    one = torch.zeros(1)
    assert Together([Fixed(0.2), Fixed(0.9), Fixed(0.5)]).judge(one).errors == (0.9,)
    assert Together([Fixed(7.0), Fixed(0.1, nonfinite=2)]).judge(one).nonfinite == 2
    assert not Together([Fixed(0.5), Fixed(math.nan)]).judge(one).is_accepted
    assert not bool(Together([Fixed(0.5), Fixed(0.6)]).is_wrong(one).any())
    assert bool(Together([Fixed(0.5), Fixed(1.6)]).is_wrong(one).all())

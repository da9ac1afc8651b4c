from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from robust_kbench.oracle import repeats
from robust_kbench.oracle.repeats import Tally

CLASSES = 8192


def logits_of(rows: int, seed: int) -> torch.Tensor:
    return torch.randn(rows, CLASSES, generator=torch.Generator().manual_seed(seed))


def drawn(logits: torch.Tensor, seed: int) -> torch.Tensor:
    uniform = torch.rand(logits.shape, generator=torch.Generator().manual_seed(seed + 10**6)).clamp_(1e-7, 1 - 1e-7)
    return (logits - uniform.log().neg().log()).argmax(-1)


def an_eighth(logits: torch.Tensor, seed: int) -> torch.Tensor:
    return seed % 8 + 8 * drawn(logits[:, seed % 8 :: 8], seed)


def tallied(sampler: Callable[[torch.Tensor, int], torch.Tensor], calls: int, rows: int = 64) -> float:
    tally = Tally()
    return min(tally.add(seed, logits_of(rows, seed), sampler(logits_of(rows, seed), seed)) for seed in range(calls))


def test_so_many_repeats_are_at_most_as_probable_as_said() -> None:
    logits = logits_of(200, 0)[:, :1000]
    expected = torch.softmax(logits.double(), -1).sum(0)
    said = sorted(repeats.probability(repeats.evidence(drawn(logits, seed), expected)) for seed in range(1000))
    assert all(said[number] >= (number - 3 * number**0.5) / 1000 for number in range(1000))
    assert said[0] < 0.1  # a bound of one would be right, and no test


def test_many_calls_show_what_one_cannot() -> None:
    assert tallied(an_eighth, 1) > 1e-6
    assert tallied(an_eighth, 20) < 1e-9


def test_an_honest_sampler_may_be_called_as_often_as_one_likes() -> None:
    assert tallied(drawn, 100) > 1e-2


def test_equal_seeds_add_nothing() -> None:
    tally, logits = Tally(), logits_of(64, 0)
    first = tally.add(5, logits, an_eighth(logits, 5))
    assert first < 1.0
    assert [tally.add(5, logits, an_eighth(logits, 5)) for _ in range(50)] == [first] * 50


@pytest.mark.parametrize("rows", [0, 1])
def test_a_call_without_a_second_row_says_nothing(rows: int) -> None:
    assert tallied(drawn, 3, rows) == 1.0


def test_a_call_in_which_a_class_is_certain_hides_no_other_one() -> None:
    tally, certain = Tally(), torch.full((64, CLASSES), -30.0)
    certain[torch.arange(64), torch.arange(64)] = 30.0
    for seed in range(20):
        tally.add(1000 + seed, certain, torch.arange(64))
        found = tally.add(seed, logits_of(64, seed), an_eighth(logits_of(64, seed), seed))
    assert found < 1e-9

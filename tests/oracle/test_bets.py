from __future__ import annotations

import math

import pytest
import torch

from robust_kbench.oracle.bets import Settled, Shifted, Uneven, average, counted


def uniform(count: int, seed: int) -> torch.Tensor:
    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("bins", [2, 8, 64])
def test_a_bet_on_uneven_bins_is_fair(bins: int) -> None:
    gains = []
    for seed in range(4000):
        bet = Uneven(bins, "")
        bet.add(counted(uniform(3, seed), bins))
        gains.append(bet.gain)
    mean = float(torch.tensor(gains).exp().mean())
    assert mean == pytest.approx(1.0, abs=0.1)


def test_the_order_in_which_samples_come_does_not_matter() -> None:
    places = uniform(100, 1)
    whole, parts = Uneven(8, ""), Uneven(8, "")
    whole.add(counted(places, 8))
    for part in places.flip(0).reshape(10, 10):
        parts.add(counted(part, 8))
    assert parts.gain == pytest.approx(whole.gain)


def test_what_is_uneven_gains_and_the_worst_bin_is_told() -> None:
    bet = Uneven(8, "between {low} and {high}")
    bet.add(counted(0.875 * uniform(500, 3), 8))
    assert bet.gain > 30
    assert bet.share == ("between 87.5 % and 100 %", 0.0, 62.5)


def test_a_bet_that_something_happens_more_often_adds_up() -> None:
    bet = Shifted("heads")
    for happened in ([True, True], [True, False]):
        seen = torch.tensor(happened)
        bet.add(Settled.of(torch.where(seen, math.log(1.5), math.log(0.5)), seen, torch.tensor(0.5)))
    assert bet.gain == pytest.approx(3 * math.log(1.5) + math.log(0.5))
    assert bet.share == ("heads", 3.0, 2.0)


def test_the_average_is_of_the_products() -> None:
    lost, won = Shifted(""), Shifted("")
    lost.gain, won.gain = -500.0, 10.0
    assert average([lost, won]) == pytest.approx(10 - math.log(2))

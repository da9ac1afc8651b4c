from __future__ import annotations

import pytest
import torch

from robust_kbench.oracle import stretches

MANY = 1 << 20


def mask(count: int, p: float, seed: int) -> torch.Tensor:
    return torch.rand(count, generator=torch.Generator().manual_seed(seed)) >= p


def numbered(kept: torch.Tensor, length: int, most: int = MANY) -> tuple[torch.Tensor, torch.Tensor]:
    return stretches.sketch(kept, torch.ones_like(kept), length, most)


@pytest.mark.parametrize("p", [0.0, 1.0, 1e-3, 0.999, 0.01])
def test_a_mask_that_is_nearly_constant_says_nothing(p: float) -> None:
    assert stretches.length_for(p) is None


@pytest.mark.parametrize("p", [0.02, 0.1, 0.25, 0.5, 0.8, 0.98])
def test_stretches_are_so_long_that_chance_repeats_none(p: float) -> None:
    length = stretches.length_for(p)
    assert length is not None
    agreement = p**2 + (1 - p) ** 2
    assert 2**27 * length * agreement ** (length / 2) < 1.1e-11  # of stretches that overlap
    assert 2**54 * agreement**length < 1e-20  # of all others
    for seed in range(20):
        assert stretches.copies(*numbered(mask(20_000, p, seed), length))[0] == 0.0


def test_shorter_stretches_repeat_as_often_as_chance_has_it() -> None:
    # With the length for which two of 4000 are alike as often as computed: what the bound is made of.
    alike = sum(stretches.copies(*numbered(mask(4000, 0.5, seed), 20))[0] * (4000 - 19) for seed in range(60))
    assert alike / 60 == pytest.approx(4000**2 / 2 * 0.5**20, rel=0.4)


def test_equal_stretches_have_equal_numbers_wherever_they_are() -> None:
    kept = mask(1000, 0.4, 1)
    kept[700:900] = kept[13:213]
    numbers, places = numbered(kept, 50)
    assert places.tolist() == list(range(951))
    equal = [number for number in range(951) if int(numbers[number]) in numbers[13:164].tolist()]
    assert equal == [*range(13, 164), *range(700, 851)]


def test_places_that_are_not_visible_are_in_no_stretch() -> None:
    kept, is_visible = mask(300, 0.5, 1), torch.ones(300, dtype=torch.bool)
    is_visible[150] = False
    _, places = stretches.sketch(kept, is_visible, 100, MANY)
    assert places.tolist() == [*range(51), *range(151, 201)]


def test_a_mask_that_is_shorter_than_a_stretch_has_none() -> None:
    assert not len(numbered(mask(10, 0.5, 1), 11)[0])
    assert stretches.copies(*numbered(mask(10, 0.5, 1), 11)) == (0.0, 0, 0)


def test_of_two_equal_stretches_both_are_chosen_or_none() -> None:
    kept = mask(20_000, 0.5, 1).repeat(2)
    numbers, places = numbered(kept, 200, 1000)
    assert 500 < len(numbers) <= 1400
    share, one, other = stretches.copies(numbers, places)
    assert share == pytest.approx(0.5, abs=0.02)
    assert other - one == 20_000
    fewer = stretches.thin(numbers, 40_000, 100)
    assert set(fewer.tolist()) <= set(numbers.tolist())
    assert 20 < len(fewer) <= 200

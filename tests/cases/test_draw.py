from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_kbench.cases.draw import Draw

SEEDS = st.integers(0, 2**64)


def test_the_sequence_of_a_seed_and_label_stays_what_it_was() -> None:
    draw = Draw(2026, "golden")
    drawn = [draw.bits(), draw.bits(8), draw.below(1000), draw.choice("abcdef"), draw.log_uniform(1, 4096)]
    assert drawn == [3227780715491199650, 128, 307, "e", 143]
    assert draw.unit() == 0.9842995170878334
    assert draw.shuffled(range(8)) == [4, 3, 1, 0, 7, 6, 5, 2]


@given(SEEDS, st.text(max_size=8))
def test_a_seed_and_a_label_give_one_sequence(seed: int, label: str) -> None:
    one, two = Draw(seed, label), Draw(seed, label)
    assert [one.bits() for _ in range(5)] == [two.bits() for _ in range(5)]


@pytest.mark.parametrize(("seed", "label"), [(1, "b"), (2, "a"), (1, ""), (11, "a"), (1, "a:")])
def test_another_seed_or_label_gives_another_sequence(seed: int, label: str) -> None:
    assert Draw(seed, label).bits(256) != Draw(1, "a").bits(256)


def test_no_draw_repeats_the_one_before() -> None:
    draw = Draw(1)
    assert len({draw.bits() for _ in range(1000)}) == 1000


@given(SEEDS, st.integers(1, 256))
def test_bits_stay_below_their_count(seed: int, count: int) -> None:
    assert 0 <= Draw(seed).bits(count) < 2**count


@given(SEEDS, st.integers(1, 2**40))
def test_below_stays_below(seed: int, bound: int) -> None:
    assert 0 <= Draw(seed).below(bound) < bound


@given(SEEDS)
def test_a_unit_lies_between_zero_and_one(seed: int) -> None:
    assert 0 <= Draw(seed).unit() < 1


@given(SEEDS, st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_log_uniform_size_lies_within_its_bounds(seed: int, one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert low <= Draw(seed).log_uniform(low, high) <= high


@given(SEEDS, st.lists(st.integers(), max_size=12))
def test_a_shuffle_keeps_every_item(seed: int, items: list[int]) -> None:
    before = list(items)
    assert sorted(Draw(seed).shuffled(items)) == sorted(before)
    assert items == before


def test_every_item_is_chosen_equally_often() -> None:
    draw = Draw(5)
    counts = Counter(draw.choice("abcdef") for _ in range(6000))
    assert set(counts) == set("abcdef")
    assert all(880 < count < 1120 for count in counts.values())  # four standard deviations


def test_every_order_of_a_shuffle_comes_equally_often() -> None:
    draw = Draw(6)
    counts = Counter(tuple(draw.shuffled("abc")) for _ in range(3000))
    assert len(counts) == 6
    assert all(400 < count < 600 for count in counts.values())


def test_half_of_the_log_uniform_sizes_lie_below_the_geometric_mean() -> None:
    draw = Draw(7)
    sizes = [draw.log_uniform(1, 4096) for _ in range(4000)]
    assert 0.47 < sum(size < 64 for size in sizes) / 4000 < 0.53
    assert min(sizes) == 1
    assert max(sizes) > 3900

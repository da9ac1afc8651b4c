from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.copied_masks import CopiedMasks

Mask = Callable[[tuple[int, int], float, int], torch.Tensor]
SHAPE = (256, 1024)


def uniform(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def honest(shape: tuple[int, int], p: float, seed: int) -> torch.Tensor:
    return uniform(shape, seed) >= p


def rows_again(shape: tuple[int, int], p: float, seed: int) -> torch.Tensor:
    third = shape[0] // 3
    drawn = uniform((shape[0] - third, shape[1]), seed)
    order = torch.randperm(third, generator=torch.Generator().manual_seed(seed))
    return torch.cat((drawn, drawn[:third][order])) >= p


def far_away(shape: tuple[int, int], p: float, seed: int) -> torch.Tensor:
    count = shape[0] * shape[1]
    return (uniform((count // 2 + 1009,), seed)[torch.arange(count) % (count // 2 + 1009)] >= p).view(shape)


def of_sixteen(shape: tuple[int, int], p: float, seed: int) -> torch.Tensor:
    return uniform(shape, seed % 16) >= p


def added(mask: Mask, chances: list[float], shape: tuple[int, int] = SHAPE, first: int = 100) -> str | None:
    masks = CopiedMasks()
    for number, p in enumerate(chances, first):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(number))
        masks.add(Inputs({"x": x, "p": p, "seed": number}), x * mask(shape, p, number))
    return masks.problem


@pytest.mark.parametrize("mask", [rows_again, far_away])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_a_mask_that_repeats_itself_is_found_in_one_call(mask: Mask, p: float) -> None:
    found = added(mask, [p])
    assert found is not None
    assert found.startswith("the mask repeats itself: ")
    assert found.endswith("0 % are due")


@pytest.mark.parametrize("p", [0.0, 1e-3, 0.02, 0.1, 0.5, 0.9, 0.98, 0.999, 1.0])
@pytest.mark.parametrize("shape", [(256, 1024), (1, 1), (0, 5), (300, 7), (3, 5000)])
def test_honest_masks_are_accepted(p: float, shape: tuple[int, int]) -> None:
    assert added(honest, [p] * 10, shape) is None


@pytest.mark.rotating
def test_many_honest_calls_are_accepted() -> None:
    chances = [0.02 + 0.0032 * (number * 7 % 300) if number % 2 else 0.5 for number in range(300)]
    assert added(honest, chances, (32, 512)) is None


def test_one_mask_of_sixteen_is_found_between_calls_with_the_same_chance() -> None:
    assert added(of_sixteen, [0.5] * 16) is None
    assert "calls have dropped what earlier ones with other seeds have" in str(added(of_sixteen, [0.5] * 18, (2, 200)))


def test_one_mask_of_sixteen_is_found_between_calls_with_other_chances() -> None:
    chances = [0.2 + 0.02 * number for number in range(17)]
    assert added(of_sixteen, chances[:16]) is None
    assert "what is dropped goes with what an earlier call with another seed has dropped" in str(
        added(of_sixteen, chances)
    )


def test_two_calls_may_be_alike_by_chance_where_a_generator_has_32_bits() -> None:
    def alike_once(shape: tuple[int, int], p: float, seed: int) -> torch.Tensor:
        return torch.roll(honest(shape, p, 100 if seed == 101 else seed), 999 * (seed == 101), 0)

    assert added(alike_once, [0.5] * 10) is None


def test_a_row_of_hundreds_may_be_that_of_another_one() -> None:
    def one_row(shape: tuple[int, int], p: float, seed: int) -> torch.Tensor:
        kept = honest(shape, p, seed)
        kept[200] = kept[7]
        return kept

    assert added(one_row, [0.5]) is None


def test_zeros_hide_a_mask() -> None:
    masks, x = CopiedMasks(), torch.zeros(SHAPE)
    for seed in range(20):
        assert masks.add(Inputs({"x": x, "p": 0.5, "seed": seed}), x) is None

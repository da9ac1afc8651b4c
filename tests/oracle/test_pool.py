from __future__ import annotations

import pytest
import torch
from specimens import load_made_task, make_case

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.pool import Pool
from robust_kbench.registry import load_task

CATEGORICAL, DROPOUT = load_task("random/gumbel_argmax").spec, load_task("random/dropout").spec


def likeliest_half(pool: Pool, seed: int, rows: int = 64) -> str | None:
    logits = torch.randn(rows, 100, generator=torch.Generator().manual_seed(seed))
    few = logits.masked_fill(logits < 0.5, -1e30)
    index = torch.multinomial(torch.softmax(few, -1), 1, generator=torch.Generator().manual_seed(seed))[:, 0]
    case = make_case(axes={"rows": 64, "classes": 100})
    return pool.add(case, Inputs({"logits": logits, "seed": seed}), {"index": index})


def test_it_says_which_output_is_wrong() -> None:
    pool = Pool(CATEGORICAL)
    found = [likeliest_half(pool, seed) for seed in range(20)]
    assert found[0] is None
    assert str(found[-1]).startswith("index: over all calls until now, ")
    assert pool.problem == found[-1]


@pytest.mark.parametrize("step", [0, 1 << 32])
def test_seeds_that_are_the_same_to_a_generator_count_once(step: int) -> None:
    pool = Pool(CATEGORICAL)
    assert [likeliest_half(pool, 5 + step * number) for number in range(20)] == [None] * 20


def test_an_answer_of_another_shape_is_left_to_others() -> None:
    pool = Pool(CATEGORICAL)
    assert [likeliest_half(pool, seed, rows=63) for seed in range(20)] == [None] * 20


def test_masks_are_looked_at_when_there_is_time() -> None:
    x = torch.ones(64, 512)
    kept = torch.rand(32, 512, generator=torch.Generator().manual_seed(1)).repeat(2, 1) >= 0.5
    case = make_case(axes={"rows": 64, "cols": 512})
    pool = Pool(DROPOUT)
    assert pool.add(case, Inputs({"x": x, "p": 0.5, "seed": 1}), {"y": x * 2 * kept}, thorough=False) is None
    assert str(pool.add(case, Inputs({"x": x, "p": 0.5, "seed": 2}), {"y": x * 2 * kept})).startswith("y: the mask")


def test_other_ops_have_nothing_to_pool() -> None:
    pool = Pool(load_made_task().spec)
    assert pool.add(make_case(), Inputs({"x": torch.ones(4, 4)}), {"y": torch.ones(4, 4)}) is None

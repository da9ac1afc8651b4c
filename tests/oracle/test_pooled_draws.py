from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from specimens import make_case

from robust_kbench.oracle import pooled_draws
from robust_kbench.oracle.pooled_draws import PooledDraws
from robust_kbench.schema.case import Case

Sampler = Callable[[torch.Tensor, int], torch.Tensor]


def logits_of(rows: int, classes: int, seed: int, scale: float = 1.0) -> torch.Tensor:
    return torch.randn(rows, classes, generator=torch.Generator().manual_seed(seed)) * scale


def uniform(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed + 10**6)).clamp_(1e-7, 1 - 1e-7)


def drawn(logits: torch.Tensor, seed: int) -> torch.Tensor:
    return (logits - uniform(tuple(logits.shape), seed).log().neg().log()).argmax(-1)


def case_of(rows: int, classes: int) -> Case:
    return make_case(axes={"rows": rows, "cols": classes})


def without(mass: float, *, likeliest: bool = False) -> Sampler:
    """Return a sampler that never draws the least likely classes, or the likeliest, that hold `mass`."""

    def sample(logits: torch.Tensor, seed: int) -> torch.Tensor:
        ordered = logits.sort(-1, descending=likeliest)
        before = torch.softmax(ordered.values, -1).cumsum(-1) - torch.softmax(ordered.values, -1)
        left_out = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, ordered.indices, before < mass)
        return drawn(logits.masked_fill(left_out, -1e30), seed)

    return sample


def favoured(logits: torch.Tensor, seed: int) -> torch.Tensor:
    is_lazy = uniform((len(logits),), seed + 5)[:] < 0.1
    return torch.where(is_lazy, logits.argmax(-1), drawn(logits, seed))


def pooled(sampler: Sampler, calls: int, rows: int, classes: int, scale: float = 1.0) -> tuple[str | None, int]:
    """Return the problem, or None, and the number of calls after which it was found."""
    pool = PooledDraws()
    for seed in range(calls):
        logits = logits_of(rows, classes, seed, scale)
        if pool.add(case_of(rows, classes), seed, logits, sampler(logits, seed)):
            return pool.problem, seed + 1
    return None, calls


@pytest.mark.parametrize(
    ("sampler", "calls", "words"),
    [
        (without(0.3), 6, "least likely classes, which hold "),
        (without(0.1), 20, "least likely classes, which hold "),
        (without(0.1, likeliest=True), 20, "of the likeliest classes, which hold "),
        (favoured, 20, "drew the likeliest class of their row"),
        (lambda logits, seed: drawn(logits * 0.8, seed), 60, "as if logits had been multiplied by "),
        (lambda logits, seed: drawn(logits[:, :750], seed), 10, "% of the mass, by index"),
        (lambda logits, seed: drawn(logits * 0, seed), 10, "due"),
    ],
    ids=["tail of 30 %", "tail of 10 %", "head of 10 %", "favoured", "times 0.8", "last quarter", "uniform"],
)
def test_calls_of_few_rows_show_a_wrong_law(sampler: Sampler, calls: int, words: str) -> None:
    found, _ = pooled(sampler, calls, 64, 1000)
    assert found is not None
    assert words in found
    assert " rows in " in found


@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_twenty_calls_with_wide_logits_show_a_factor_near_one(factor: float) -> None:
    found, _ = pooled(lambda logits, seed: drawn(logits * factor, seed), 20, 509, 1021, 2.5)
    assert f"as if logits had been multiplied by {factor:g}, and 50 % are due" in str(found)


@pytest.mark.parametrize(("rows", "classes", "scale"), [(64, 1000, 1.0), (1, 5, 1.0), (500, 2, 3.0), (30, 50, 0.0)])
def test_an_honest_sampler_is_accepted(rows: int, classes: int, scale: float) -> None:
    assert pooled(drawn, 200, rows, classes, scale)[0] is None


@pytest.mark.rotating
def test_false_alarms_are_as_rare_as_they_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    # With a limit of 5 % there are at most so many, however often one looks: 100 evaluations of 20 calls each.
    monkeypatch.setattr(pooled_draws, "IMPROBABLE", 0.05)
    alarms = 0
    for evaluation in range(100):
        pool = PooledDraws()
        for call in range(20):
            seed = 1000 * evaluation + call
            logits = logits_of(20, 30, seed)
            pool.add(case_of(20, 30), seed, logits, drawn(logits, seed))
        alarms += pool.problem is not None
    assert alarms <= 5


def test_right_calls_do_not_hide_wrong_ones_of_another_size() -> None:
    pool = PooledDraws()
    for seed in range(60):
        logits = logits_of(500, 100, seed)
        assert pool.add(case_of(500, 100), seed, logits, drawn(logits, seed)) is None
    for seed in range(60, 80):
        logits = logits_of(64, 1000, seed)
        pool.add(case_of(64, 1000), seed, logits, without(0.1)(logits, seed))
    assert pool.problem is not None


def test_one_row_that_draws_the_same_class_each_time_has_ranks_of_its_own() -> None:
    # A share of ties that is always the same would make them one number.
    certain = torch.tensor([[60.0, 0.0, 0.0]])
    pool = PooledDraws()
    for seed in range(300):
        assert pool.add(case_of(1, 3), seed, certain, torch.tensor([0])) is None


def test_what_is_too_large_for_float32_is_left_out() -> None:
    pool = PooledDraws()
    for seed in range(30):
        assert pool.add(case_of(64, 9), seed, logits_of(64, 9, seed, 1e6), torch.zeros(64, dtype=torch.int64)) is None


def test_classes_out_of_range_and_empty_calls_say_nothing() -> None:
    pool = PooledDraws()
    assert pool.add(case_of(2, 9), 1, logits_of(2, 9, 1), torch.tensor([9, -1])) is None
    assert pool.add(case_of(0, 9), 2, torch.empty(0, 9), torch.empty(0, dtype=torch.int64)) is None


def test_the_measured_share_and_the_due_one_are_told() -> None:
    found, calls = pooled(without(0.3), 20, 64, 1000)
    assert found is not None
    assert found.startswith("0 % of ") or found.split(" %")[0].replace(".", "").isdigit()
    assert f"rows in {calls} calls with different seeds drew " in found
    assert math.isfinite(float(found.rsplit(" ", 1)[1]))
    assert float(found.rsplit(" ", 1)[1]) < 1e-9

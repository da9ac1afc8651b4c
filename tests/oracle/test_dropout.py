from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from robust_kbench.oracle import dropout
from robust_kbench.oracle.dropout import Dropout

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def _random(*shape: int, seed: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def _x(*shape: int, seed: int = 7, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _dropped(x: torch.Tensor, p: float, seed: int, share: float | None = None) -> torch.Tensor:
    """`share` of the elements are dropped, `p` if it is not given."""
    kept = _random(*x.shape, seed=seed) >= (p if share is None else share)
    return torch.where(kept, x.float() * (1 / (1 - p)), 0.0).to(x.dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (257, 129), (100_000,), (8, 64, 65)], ids=str)
def test_an_honest_dropout_is_accepted_with_a_tenth_to_spare(
    dtype: torch.dtype, p: float, shape: tuple[int, ...]
) -> None:
    x = _x(*shape, dtype=dtype)
    judged = [Dropout(x, p).judge(_dropped(x, p, seed)) for seed in range(6)]
    assert max(judgement.ratio for judgement in judged) <= 0.9


def test_false_alarms_are_as_rare_as_five_deviations_are() -> None:
    x = _x(64, 64)
    worst = max(Dropout(x, 0.3).judge(_dropped(x, 0.3, seed)).ratio for seed in range(300))
    assert 2 / 5 < worst <= 0.9


@pytest.mark.parametrize(("p", "answer"), [(0.0, 1.0), (1.0, 0.0)])
def test_nothing_and_everything_can_be_dropped(p: float, answer: float) -> None:
    x = _x(64, 64)
    assert Dropout(x, p).judge(x * answer).is_accepted
    assert not Dropout(x, p).judge(x * (1 - answer)).is_accepted


def _by_rows(x: torch.Tensor, p: float) -> torch.Tensor:
    return torch.where(_random(1, x.shape[1], seed=1) >= p, x / (1 - p), 0.0)


def _every_second(x: torch.Tensor, p: float) -> torch.Tensor:
    return torch.where(torch.arange(x.numel()).view(x.shape) % 2 == 0, x / (1 - p), 0.0)


def _of_32(x: torch.Tensor, p: float) -> torch.Tensor:
    """Every warp draws the same numbers."""
    order = torch.randperm(32, generator=torch.Generator().manual_seed(1))
    return torch.where(order.repeat(x.numel() // 32).view(x.shape) >= 32 * p, x / (1 - p), 0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, p: x,
        lambda x, p: x / (1 - p),
        lambda x, p: torch.zeros_like(x),
        lambda x, p: _dropped(x, p, 1, share=p - 0.05),
        lambda x, p: _dropped(x, p, 1, share=1 - p),
        lambda x, p: _dropped(x, p, 1) * (1 - p),
        lambda x, p: _dropped(x, p, 1) * 1.001,
        lambda x, p: torch.where(_dropped(x, p, 1) == 0, 1e-3, x / (1 - p)),
        _by_rows,
        _every_second,
        _of_32,
    ],
    ids=[
        "nothing dropped", "only scaled", "zeros", "too few", "kept and dropped swapped", "not scaled", "scaled wrong",
        "not quite zero", "one mask for all rows", "every second", "repeats after 32",
    ],
)  # fmt: skip
def test_what_is_no_dropout_is_refused(wrong: Callable[[torch.Tensor, float], torch.Tensor]) -> None:
    x = _x(256, 128)
    judged = Dropout(x, 0.4).judge(wrong(x, 0.4))
    assert not judged.is_accepted
    assert judged.demand


def test_one_wrong_value_among_many_is_refused_and_found() -> None:
    x = _x(256, 128)
    answer = _dropped(x, 0.4, 1)
    answer[255, 127] = 77.0
    judged = Dropout(x, 0.4).judge(answer)
    assert not judged.is_accepted
    assert judged.demand.startswith("relative error: whole tensor")
    assert Dropout(x, 0.4).is_wrong(answer).nonzero().tolist() == [[255, 127]]


def test_a_message_says_what_is_improbable() -> None:
    x = _x(256, 128)
    assert Dropout(x, 0.4).judge(_dropped(x, 0.4, 1, share=0.3)).demand.startswith("the number of kept elements is ")
    assert Dropout(x, 0.5).judge(_of_32(x, 0.5)).demand.startswith("the mask repeats itself: correlated by ")


def test_elements_that_are_zero_anyway_do_not_count_as_dropped() -> None:
    x = torch.where(_random(256, 128, seed=3) < 0.01, _x(256, 128), 0.0)
    assert Dropout(x, 0.4).judge(_dropped(x, 0.4, 1)).is_accepted


@pytest.mark.parametrize("got", [math.nan, 0.0])
def test_a_nan_may_be_kept_or_dropped(got: float) -> None:
    x = _x(16, 16)
    answer = _dropped(x, 0.4, 1)
    x[3, 3], answer[3, 3] = math.nan, got
    assert Dropout(x, 0.4).judge(answer).is_accepted
    answer[3, 3] = 1.0
    assert not Dropout(x, 0.4).judge(answer).is_accepted


def test_a_nan_out_of_nowhere_is_refused() -> None:
    x = _x(16, 16)
    answer = _dropped(x, 0.4, 1)
    answer[3, 3] = math.nan
    assert Dropout(x, 0.4).judge(answer).ratio == math.inf


def test_an_empty_output_is_right() -> None:
    assert Dropout(torch.empty(0, 4), 0.4).judge(torch.empty(0, 4)).is_accepted


def test_of_a_large_mask_only_the_first_rows_are_correlated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dropout, "_LOOKED_AT", 128 * 128)
    x = _x(256, 128)
    answer = _dropped(x, 0.4, 1)
    answer[128:] = _of_32(x, 0.4)[128:]
    assert Dropout(x, 0.4).judge(answer).errors[2] < 5
    answer[:128] = _of_32(x, 0.4)[:128]
    assert Dropout(x, 0.4).judge(answer).errors[2] > 5

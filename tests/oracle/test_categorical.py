from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from robust_kbench.oracle import categorical
from robust_kbench.oracle.categorical import Categorical


def _logits(rows: int, classes: int, scale: float = 1.0, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, classes, generator=torch.Generator().manual_seed(seed)) * scale


def _drawn(logits: torch.Tensor, seed: int = 1, noise: float = 1.0) -> torch.Tensor:
    uniform = torch.rand(logits.shape, generator=torch.Generator().manual_seed(seed)).clamp_(1e-7, 1 - 1e-7)
    return (logits.float() - noise * uniform.log().neg().log()).argmax(-1)


@pytest.mark.parametrize("scale", [0.0, 1.0, 5.0, 100.0])
@pytest.mark.parametrize(("rows", "classes"), [(1, 1), (1, 50), (7, 3), (1000, 2), (1000, 300), (4096, 16)])
def test_honest_samples_are_accepted_with_a_tenth_to_spare(rows: int, classes: int, scale: float) -> None:
    for seed in range(5):
        logits = _logits(rows, classes, scale, seed)
        assert Categorical(logits).judge(_drawn(logits, seed + 100)).ratio <= 0.9


@pytest.mark.parametrize("seed", [0, 2**32])
def test_a_sampler_may_use_the_numbers_of_any_seed(seed: int) -> None:
    logits = _logits(40_000, 2, seed=7)
    assert Categorical(logits).judge(_drawn(logits, seed)).ratio <= 0.9


@pytest.mark.parametrize("classes", [10, 1000])
def test_false_alarms_are_as_rare_as_they_should_be(classes: int) -> None:
    logits = _logits(300, classes)
    surprises = [Categorical(logits).judge(_drawn(logits, seed)).errors[1] for seed in range(1, 401)]
    assert 0.15 < max(surprises) <= 0.9  # one in a hundred is a third of the way to one in a million


@pytest.mark.parametrize(
    "wrong",
    [
        lambda logits: logits.argmax(-1),
        lambda logits: logits.argmin(-1),
        lambda logits: _drawn(logits * 0),
        lambda logits: _drawn(logits, noise=0.8),
        lambda logits: _drawn(logits, noise=1.25),
        lambda logits: _drawn(logits).clamp(max=8),
        lambda logits: _drawn(logits.roll(1, -1)),
        lambda logits: _drawn(logits.roll(1, 0)),
        lambda logits: torch.cat([_drawn(logits)[:3600], logits[3600:].argmax(-1)]),
    ],
    ids=[
        "the largest", "the smallest", "uniform", "too cold", "too hot", "one class missing", "another class",
        "another row", "the last 12 % the largest",
    ],
)  # fmt: skip
def test_samples_of_another_law_are_refused(wrong: Callable[[torch.Tensor], torch.Tensor]) -> None:
    logits = _logits(4096, 10)
    judged = Categorical(logits).judge(wrong(logits))
    assert not judged.is_accepted
    assert judged.demand.startswith("samples as far off as these have a probability of ")


@pytest.mark.parametrize(("rows", "classes"), [(512, 1024), (256, 2048)])
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_a_sampler_that_looks_at_one_class_in_eight_repeats_itself(rows: int, classes: int, scale: float) -> None:
    logits = _logits(rows, classes, scale)
    assert Categorical(logits).judge(_drawn(logits)).ratio <= 0.9
    assert not Categorical(logits).judge(3 + 8 * _drawn(logits[:, 3::8])).is_accepted


def test_rows_may_agree_where_their_laws_do() -> None:
    logits = _logits(1, 1024).expand(512, -1) * torch.linspace(0, 8, 512)[:, None]
    assert Categorical(logits).judge(_drawn(logits)).ratio <= 0.9


def test_a_class_without_probability_and_one_out_of_range_are_found() -> None:
    logits = _logits(100, 10)
    logits[:, 3] = -math.inf
    answer = _drawn(logits)
    assert Categorical(logits).judge(answer).is_accepted
    answer[5], answer[6], answer[7] = 3, 10, -1
    judged = Categorical(logits).judge(answer)
    assert (judged.is_accepted, judged.errors[0]) == (False, 3.0)
    assert Categorical(logits).is_wrong(answer).nonzero()[:, 0].tolist() == [5, 6, 7]


def test_a_class_that_is_practically_impossible_is_refused() -> None:
    logits = torch.zeros(100, 10)
    logits[:, 3] = -60.0
    answer = _drawn(logits)
    answer[50] = 3
    assert not Categorical(logits).judge(answer).is_accepted


@pytest.mark.parametrize("shape", [(0, 5), (4, 6, 5)], ids=str)
def test_samples_keep_the_leading_axes_of_the_logits(shape: tuple[int, ...]) -> None:
    logits = torch.zeros(shape)
    assert Categorical(logits).judge(_drawn(logits)).is_accepted
    assert Categorical(logits).is_wrong(_drawn(logits)).shape == shape[:-1]


@pytest.mark.parametrize("block", [1, 50, 999])
def test_judging_in_blocks_gives_the_same_result(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    logits = _logits(500, 10)
    whole = Categorical(logits).judge(_drawn(logits))
    monkeypatch.setattr(categorical, "_BLOCK_ELEMENTS", block)
    assert Categorical(logits).judge(_drawn(logits)).errors == pytest.approx(whole.errors)


def test_samples_from_half_precision_logits_follow_the_rounded_logits() -> None:
    logits = _logits(4096, 10).bfloat16()
    assert Categorical(logits).judge(_drawn(logits)).is_accepted

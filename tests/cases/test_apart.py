"""Scores of the probe `apart` are far from each other, beyond what an exponential of float32 holds, and exact."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from specimens import make_case

from robust_kbench.cases import apart
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.cases.values import make_inputs
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import FloatDType, Task

DTYPES: tuple[FloatDType, ...] = ("float32", "float16", "bfloat16")
WIDTHS = (1, 5, 16, 17, 32, 64, 128, 576)
BLOCKS = [
    (7, 5, False),
    *((heads, width, is_normed) for heads, width in ((2, 16), (3, 17), (1, 128)) for is_normed in (False, True)),
]
"""Heads, their width, and whether a layer norm comes first. Behind one, heads of five features fall a little short."""
OVERFLOW = 88.8
VANISHING = -104.0  # exponentials of less are zero in float32
TASKS = {name: task for name in task_names() if "apart" in (task := load_task(name).spec).probes}


def _source() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    scale: float = q.shape[-1] ** -0.5
    return q.double() @ k.double().transpose(-2, -1) * scale


def _scores_of_a_block(batch: int, heads: int, width: int, is_normed: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """[batch, heads, 30, 30], of its positions, and which queries are turned: [batch, 30]."""
    dim, source = heads * width, _source()
    x = apart.positions((batch, 30, dim), source)
    weight, bias = apart.projection((3 * dim, dim), source), apart.projection_bias((3 * dim,), source)
    normed = torch.nn.functional.layer_norm(x, (dim,)) if is_normed else x
    q, k, _ = (normed @ weight.T + bias).reshape(batch, 30, 3, heads, width).permute(2, 0, 3, 1, 4)
    return _scores(q, k), x[..., -2] != 0


def _first_heads(scores: torch.Tensor) -> torch.Tensor:
    """Scores of the heads, or of the only one, whose queries have the usual sign: [batch, heads, 30, 30]."""
    return scores[:, : max(1, scores.shape[1] // 2)]


def _probes(task: Task, seed: int) -> Iterator[Case]:
    suite = draw_suite(task, seed, budget=BUDGETS["quick"], dtypes=task.dtypes, device="cpu", dense=False)
    return (case for case in suite.checked if case.probe == "apart")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_five_scores_of_a_row_are_far_apart_and_the_largest_overflows(width: int, dtype: str) -> None:
    kind = getattr(torch, dtype)
    q = apart.queries((30, 7, width)).to(kind)
    scores = _scores(q, apart.keys((30, 50, width), _source()).to(kind)).sort(-1, descending=True).values
    is_sunk = scores[:, 0, -1] < 0
    assert 4 <= int(is_sunk.sum()) <= 16
    usual, sunk = scores[~is_sunk], scores[is_sunk]
    assert float((usual[..., :5] - usual[..., 1:6]).amin()) >= 23.0
    assert float(usual[..., 5:].abs().amax()) == 0.0
    assert OVERFLOW < float(usual[..., 0].amin()) <= float(usual.amax()) < 128.0
    assert float((sunk[..., 0] - sunk[..., 1]).amin()) >= 23.0
    assert -160.0 < float(sunk.amin()) == float(sunk[..., 1].amax()) < float(sunk[..., 0].amax()) < VANISHING


@pytest.mark.parametrize("width", WIDTHS)
def test_codes_of_keys_make_such_scores_as_well(width: int) -> None:
    codes = apart.key_codes((60, 40, width), _source())
    assert 0.0 <= float(codes.amin()) < float(codes.amax()) <= 255.0
    scores = _scores(apart.queries((60, 1, width)), codes - 128).sort(-1, descending=True).values
    is_sunk = (scores < VANISHING).all(-1)
    assert 8 <= int(is_sunk.sum()) <= 32
    assert float((scores[~is_sunk][..., :5] - scores[~is_sunk][..., 1:6]).amin()) >= 23.0
    assert float(scores[~is_sunk][..., 0].amin()) > OVERFLOW


def test_a_short_sequence_has_the_largest_levels() -> None:
    scores = _scores(apart.queries((40, 1, 64)), apart.keys((40, 2, 64), _source()))
    assert all(largest > OVERFLOW or largest < VANISHING for largest in scores.amax(-1).flatten().tolist())
    assert float((scores.amax(-1) - scores.amin(-1)).amin()) >= 23.0


def test_keys_whose_positions_lie_in_several_axes_have_five_levels_in_each_head() -> None:
    keys = apart.keys_by_position((6, 8, 3, 16), _source())
    assert keys.shape == (6, 8, 3, 16)
    flat = keys[..., -1].reshape(48, 3)
    assert ((flat != 0).sum(0) == 5).all()


def test_all_but_the_last_feature_of_a_key_is_as_usual() -> None:
    keys = apart.keys((2, 500, 32), _source())[..., :-1]
    assert abs(float(keys.std()) - 1.0) < 0.02


@pytest.mark.parametrize(("heads", "width", "is_normed"), BLOCKS)
def test_positions_of_a_block_get_scores_that_are_far_apart(heads: int, width: int, is_normed: bool) -> None:
    scores, is_turned = _scores_of_a_block(30, heads, width, is_normed)
    first = _first_heads(scores).transpose(1, 2)  # [batch, 30 queries, heads, 30 keys]
    is_sunk = (first.amax(-1).amax(-1) < 0).any(-1)  # some queries of it have no larger score
    assert 12 <= int((~is_sunk).sum()) < 30
    usual = first[~is_sunk][~is_turned[~is_sunk]].sort(-1, descending=True).values
    assert float((usual[..., :3] - usual[..., 1:4]).amin()) > (20.0 if is_normed else 23.0)
    assert float(usual.amax(-1).amin()) > OVERFLOW


@pytest.mark.parametrize(("heads", "width", "is_normed"), BLOCKS)
def test_a_maximum_of_other_queries_or_heads_of_a_block_is_too_high(heads: int, width: int, is_normed: bool) -> None:
    scores, is_turned = _scores_of_a_block(30, heads, width, is_normed)
    assert 0.2 < float(is_turned.double().mean()) < 0.45
    largest = scores.amax(-1)
    assert float((largest.amax(-1) - largest.amin(-1)).amin()) > -VANISHING
    if heads > 1:
        assert float((largest.amax(1) - largest.amin(1) > -VANISHING).double().mean()) > 0.8


@pytest.mark.parametrize(("heads", "width", "is_normed"), BLOCKS)
def test_no_query_of_a_block_has_nearly_equal_keys_ahead(heads: int, width: int, is_normed: bool) -> None:
    scores, _ = _scores_of_a_block(60, heads, width, is_normed)
    behind = scores.amax(-1, keepdim=True) - scores
    # A normalised level of 32 features is rounded in the sixth digit; a score of a hundred by as much.
    assert not ((behind > 1e-3) & (behind < 3.0)).any()


def test_values_of_a_block_are_of_the_usual_size() -> None:
    source = _source()
    x, weight = apart.positions((2, 30, 64), source), apart.projection((192, 64), source)
    assert 0.3 < float((x @ weight.T + apart.projection_bias((192,), source))[..., 128:].std()) < 0.9


@pytest.mark.parametrize("name", TASKS)
def test_every_dtype_of_a_task_with_attention_meets_scores_that_are_apart(name: str) -> None:
    task = TASKS[name]
    cases = list(_probes(task, 11))
    assert {case.dtype for case in cases} == set(task.dtypes)
    for case in cases:
        assert task.misfit(case.axes) is None
        tensors = make_inputs(task, case).tensors
        assert all(bool(tensors[each].float().isfinite().all()) for each in task.probes["apart"])


def test_attentions_with_a_softmax_have_the_probe() -> None:
    families = {name.split("/")[0] for name in TASKS}
    assert families == {"attention", "block", "quant"}
    assert len(TASKS) == 13


@pytest.mark.parametrize("width", WIDTHS)
def test_a_third_of_the_heads_is_sunk_wherever_a_sequence_may_begin(width: int) -> None:
    keys = apart.keys_by_position((30, 60, width), _source()).transpose(0, 1)
    scores = _scores(apart.queries((60, 1, width)), keys).squeeze(1)
    is_sunk = (scores < VANISHING).all(-1)
    assert 8 <= int(is_sunk.sum()) <= 32
    assert float(scores[~is_sunk].amin()) == 0.0


@pytest.mark.parametrize(("heads", "width", "is_normed"), BLOCKS)
def test_positions_of_a_third_of_the_sequences_are_sunk_and_the_first_is_far_ahead(
    heads: int, width: int, is_normed: bool
) -> None:
    scores, is_turned = _scores_of_a_block(60, heads, width, is_normed)
    first = _first_heads(scores).transpose(1, 2)
    is_sunk = (first.amax(-1).amax(-1) < 0).any(-1)
    assert 8 <= int(is_sunk.sum()) <= 32
    sunk = first[is_sunk][~is_turned[is_sunk]]
    assert float(sunk.amax()) < (VANISHING if heads > 1 else -70.0)
    assert float((sunk[..., :1] - sunk[..., 1:]).amin()) > 23.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_level_keys_have_two_scores_in_each_sequence_and_are_no_larger_than_usual_ones(width: int, dtype: str) -> None:
    kind = getattr(torch, dtype)
    keys = apart.level_keys((60, 40, width), _source()).to(kind)
    scores = _scores(apart.level_queries((60, 3, width)).to(kind), keys)[:, 0]
    levels = torch.tensor(sorted(set(scores.flatten().tolist())))
    assert len(levels) == 2
    assert float(levels[0]) < VANISHING < OVERFLOW < float(levels[1])
    changes = scores[:, 1:] != scores[:, :-1]
    assert (changes.sum(-1) == 1).all()
    assert int(changes.any(0).sum()) > 20
    assert 16 <= int((scores[:, 0] < VANISHING).sum()) <= 44
    assert float(keys[..., -1].abs().amax()) < 4.0


def test_another_seed_puts_the_levels_elsewhere() -> None:
    task = TASKS["attention/causal"]
    axes = {"batch": 1, "heads": 1, "length": 100, "head_dim": 16}
    one, two = (make_inputs(task, make_case(axes=axes, probe="apart", seed=seed)).tensors["k"] for seed in (1, 2))
    assert not torch.equal(one[..., -1], two[..., -1])

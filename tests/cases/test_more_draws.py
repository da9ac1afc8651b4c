from __future__ import annotations

import math

import torch

from robust_kbench.cases.more_draws import cases_of_more_draws, inputs_of_more_draws
from robust_kbench.registry import load_task

TASK = load_task("random/gumbel_argmax").spec


def test_every_dtype_draws_at_the_sizes_of_timed_calls_that_have_rows() -> None:
    cases = cases_of_more_draws(TASK, ["float32", "bfloat16"], 7)
    sizes = [(case.dtype, *case.axes.values()) for case in cases]
    assert len(sizes) == len(set(sizes))
    assert ("float32", 509, 1021) in sizes
    assert ("bfloat16", 64, 8192) in sizes
    assert not any(case.axes["rows"] < 32 or math.prod(case.axes.values()) > 1 << 21 for case in cases)


def test_other_tasks_have_none() -> None:
    assert cases_of_more_draws(load_task("random/dropout").spec, ["float32"], 7) == []


def test_calls_differ_in_their_seeds_alone_and_can_be_made_again() -> None:
    (case, *_) = cases_of_more_draws(TASK, ["float16"], 7)
    drawn, again = (list(inputs_of_more_draws(TASK, case, "quick")) for _ in range(2))
    rows = drawn[0].tensors["logits"].shape[0]
    assert len({inputs.values["seed"] for inputs in drawn}) == len(drawn) == 20 * min(4, 512 // rows)
    assert [inputs.digest for inputs in drawn] == [inputs.digest for inputs in again]
    assert all(torch.equal(inputs.tensors["logits"], drawn[0].tensors["logits"]) for inputs in drawn)
    assert drawn[0].tensors["logits"].dtype == torch.float16
    assert 2.3 < float(drawn[0].tensors["logits"].float().std()) < 2.7

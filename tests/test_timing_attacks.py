"""Submissions that are right only while they are looked at. Those that cheat the clock are in tests/attacks/timing."""

from __future__ import annotations

import pytest
from conftest import Submit

from robust_kbench.evaluate import Evaluator
from robust_kbench.schema.record import Status

RIGHT = "torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)"

BY_SHAPE = f"""
import torch
answers = {{}}

def rmsnorm(x, weight):
    if x.shape not in answers:
        answers[x.shape] = {RIGHT}
    return answers[x.shape]
"""
UNTIL_WARM = f"""
import torch
calls = {{}}

def rmsnorm(x, weight):
    calls[x.shape] = calls.get(x.shape, 0) + 1
    return torch.zeros(x.shape) if calls[x.shape] > 4 else {RIGHT}
"""
ONE_ELEMENT_LATER = f"""
import torch
calls = {{}}

def rmsnorm(x, weight):
    calls[x.shape] = calls.get(x.shape, 0) + 1
    y = {RIGHT}
    if calls[x.shape] > 4:
        y[-1, -1] = 0
    return y
"""
PATCHED_TIME = f"""
import time, torch
time.perf_counter_ns = time.monotonic_ns = lambda: 0
time.perf_counter = time.monotonic = lambda: 0.0

def rmsnorm(x, weight):
    for _ in range(8):
        x.double().exp()
    return {RIGHT}
"""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(BY_SHAPE, id="answers_cached_by_shape"),
        pytest.param(UNTIL_WARM, id="right_until_it_is_timed"),
        pytest.param(ONE_ELEMENT_LATER, id="one_wrong_element_once_it_is_timed"),
    ],
)
def test_a_kernel_that_is_right_only_at_first_is_incorrect(source: str, evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(source), tier="quick")
    assert record.status is Status.INCORRECT, record.reason


@pytest.mark.rotating
def test_a_clock_patched_in_the_worker_changes_nothing(evaluator: Evaluator, submit: Submit) -> None:
    from robust_kbench.scoring import score

    record = evaluator.evaluate(submit(PATCHED_TIME), tier="quick")
    assert record.status is Status.PASSED, record.reason
    assert score(record)["float32"].speedup.high < 1.0

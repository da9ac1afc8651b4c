"""Submissions that are right but cheat the clock, or right only while they are looked at; and honest look-alikes."""

from __future__ import annotations

import pytest
from conftest import Submit

from robust_kbench.evaluate import Evaluator
from robust_kbench.schema.record import Status

RIGHT = "torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)"

# Inputs are in place when `fill` runs, a moment before the clock starts: compute there, and only hand over inside it.
EARLY = """
import torch
from robust_kbench.worker import devices

def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

def fill(call):
    call.early = slow(*call._arguments)

def run(call, kernel):
    call._result = call.early
    return {"outcome": "returned", "outputs": devices.arguments.describe(call._result)}

devices.CpuCall.fill, devices.CpuCall.run = fill, run

def rmsnorm(x, weight):
    return slow(x, weight)
"""
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
PLAN_BY_SHAPE = f"""
import torch
plans = {{}}

def rmsnorm(x, weight):
    if x.shape not in plans:
        plans[x.shape] = torch.empty(x.shape, dtype=x.dtype)
    scratch = plans[x.shape]
    torch.mul(x, x, out=scratch)
    return {RIGHT}
"""
SLOW_FIRST_CALL = f"""
import time, torch
seen = set()

def rmsnorm(x, weight):
    if x.shape not in seen:
        seen.add(x.shape)
        time.sleep(0.02)
    return {RIGHT}
"""


def test_work_before_the_clock_is_rejected(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(EARLY), tier="quick")
    assert record.status is Status.REJECTED, record.reason
    assert record.reason.startswith("clock: the worker needs longer to become ready than the baseline's")


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


def test_a_clock_patched_in_the_worker_changes_nothing(evaluator: Evaluator, submit: Submit) -> None:
    from robust_kbench.scoring import score

    record = evaluator.evaluate(submit(PATCHED_TIME), tier="quick")
    assert record.status is Status.PASSED, record.reason
    assert score(record)["float32"].speedup.high < 1.0


@pytest.mark.parametrize(
    "source",
    [pytest.param(PLAN_BY_SHAPE, id="scratch_by_shape"), pytest.param(SLOW_FIRST_CALL, id="slow_first_call")],
)
def test_an_honest_look_alike_passes(source: str, evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(source), tier="quick")
    assert record.status is Status.PASSED, record.reason
    assert [finding for finding in record.findings if finding.severity == "reject"] == []

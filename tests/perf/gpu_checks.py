"""Checks of the method's assumptions about a CUDA device: each is a function that yields rows of a table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import gpu_trials
import torch
from gpu_trials import Bench

from robust_kbench.schema.record import CANDIDATE, CONTROL, EAGER, Timing
from robust_kbench.scoring import CaseScore, score_case
from robust_kbench.timing.result import SessionResult
from robust_kbench.timing.statistics import Verdict, median_interval

Row = dict[str, Any]
RMSNORM = (
    "norm/rmsnorm",
    "import torch\n\ndef f(x, weight):\n    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)\n",
)
SOFTMAX = ("activation/softmax", "import torch\n\ndef f(x):\n    return torch.softmax(x, -1)\n")
MATMUL = ("matmul/matmul", "import torch\n\ndef f(a, b):\n    return torch.mm(a, b)\n")
BINDINGS: Sequence[tuple[tuple[str, str], dict[str, int]]] = (
    (SOFTMAX, {"rows": 64, "cols": 4096}),
    (RMSNORM, {"rows": 16, "cols": 8192}),
    (RMSNORM, {"rows": 1024, "cols": 4096}),
    (SOFTMAX, {"rows": 4096, "cols": 4096}),
    (SOFTMAX, {"rows": 1024, "cols": 65024}),
    (MATMUL, {"m": 2048, "n": 2048, "k": 2048}),
)
EQUAL_SESSIONS, PLANTED_TRIALS = 8, 20
_PLANTED = 0.03
_CYCLES_PER_US = 1_700
_SLEEPS = """import torch

def f(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    torch.cuda._sleep(CYCLES + MORE)
    return y
"""


def clock() -> Iterator[Row]:
    """Time an empty kernel by the judge's clock, in three sessions of fresh workers."""
    (task, source), axes = BINDINGS[2]
    with ExitStack() as stack:
        bench = Bench(stack)
        for number in range(3):
            told = gpu_trials.equals(bench, task, axes, source).calibration
            assert told is not None
            empty = sorted(told.empty["turn"])
            yield {
                "session": number + 1,
                "empty_us": statistics.median(empty) / 1e3,
                "least_us": empty[0] / 1e3,
                "most_us": empty[-1] / 1e3,
                "events_around_nothing_us": statistics.median(told.empty_events) / 1e3,
                "spread_us": (told.spread_ns() or 0) / 1e3,
            }


def equals() -> Iterator[Row]:
    """Compare an operator of PyTorch's with itself: sessions' distances from 1, in per cent, and their verdicts."""
    with ExitStack() as stack:
        bench = Bench(stack)
        for (task, source), axes in BINDINGS:
            results = [gpu_trials.equals(bench, task, axes, source) for _ in range(EQUAL_SESSIONS)]
            yield {"operator": f"{task} {'x'.join(map(str, axes.values()))}", **apart(results), **called(results)}


def apart(results: Sequence[SessionResult]) -> Row:
    """Return times, and how far each session has equals apart: candidate and control against the baseline."""
    pairs = [(result, name) for result in results for name in (CANDIDATE, CONTROL) if name in result.samples]
    logs = [_log_ratio(result, name) for result, name in pairs]
    return {
        "us": statistics.median(statistics.median(result.times(EAGER)) for result in results) / 1e3,
        "median_%": 100 * statistics.median(logs),
        "mean_%": 100 * statistics.mean(logs),
        "sessions_%": ", ".join(f"{100 * log:.2f}" for log in logs),
    }


def called(results: Sequence[SessionResult]) -> Row:
    """Count verdicts on equals, each from one session as tier quick has it: "faster" is a false alarm."""
    scores = [score for result in results for score in _scores(result)]
    told = [score.verdict for score in scores]
    counts = {f"{verdict}": told.count(verdict) for verdict in (Verdict.FASTER, Verdict.SLOWER)}
    return {**counts, "of": len(told), "resolved": sum(score.is_resolved for score in scores)}


def _scores(result: SessionResult) -> Iterator[CaseScore]:
    session = result.as_record(0)
    for name in (CANDIDATE, CONTROL):
        if name in session.samples:
            pair = {CANDIDATE: session.samples[name], EAGER: session.samples[EAGER]}
            yield score_case(Timing(axes={}, dtype="float32", sessions=(session.model_copy(update={"samples": pair}),)))


def _log_ratio(result: SessionResult, name: str) -> float:
    return math.log(statistics.median(result.times(EAGER)) / statistics.median(result.times(name)))


def planted() -> Iterator[Row]:
    """Plant a slow-down of 3 % in a copy of a kernel of 0.1 ms, and count the sessions that find it."""
    (task, _), axes = BINDINGS[2]
    cycles = 100 * _CYCLES_PER_US
    source = _SLEEPS.replace("CYCLES", str(cycles))
    with ExitStack() as stack:
        bench = Bench(stack)
        found, logs, whole_us = 0, [], 0.0
        for _ in range(PLANTED_TRIALS):
            more = str(int(_PLANTED * (cycles + 20 * _CYCLES_PER_US)))
            result = gpu_trials.slower(bench, task, axes, source, more)
            _, middle, high = median_interval(result.logs())
            found += high < 0
            logs.append(middle)
            whole_us = statistics.median(result.times(EAGER)) / 1e3
        told = {"us": whole_us, "planted_%": 100 * _PLANTED, "found": found, "of": PLANTED_TRIALS}
        yield {**told, "seen_%": ", ".join(f"{-100 * log:.1f}" for log in logs)}


def profiler() -> Iterator[Row]:
    """Time published kernels on their first timed binding, by us and CUPTI, with and without a change of contexts."""
    with ExitStack() as stack:
        for each in gpu_trials.published(Bench(stack)):
            yield compare(each)


def compare(each: gpu_trials.Published) -> Row:
    """Return our time over a profiler's, which may have seen nothing."""
    if each.error:
        return {"kernel": each.name, "error": each.error}
    told: Row = {"kernel": each.name, "ours_us": each.ours_us}
    for name, profiled_us in (("profiler", each.profiled_us), ("profiler after a turn", each.after_turn_us)):
        told |= {f"{name}_us": profiled_us, f"ours/{name}": each.ours_us / profiled_us if profiled_us else None}
    return told


def power() -> Iterator[Row]:
    """Time one product on zeros and on random values: it draws more power when bits change."""
    size = 8192
    for name in ("zeros", "randn", "zeros", "randn"):
        make: Callable[..., torch.Tensor] = getattr(torch, name)
        a, b = (make(size, size, dtype=torch.bfloat16, device="cuda") for _ in range(2))
        times = [_event_us(lambda: a @ b) for _ in range(120)]  # noqa: B023 - called at once
        middle = statistics.median(times[60:])
        yield {"values": name, "us": middle, "tflop_per_s": 2 * size**3 / middle / 1e6}


def _event_us(work: Callable[[], Any]) -> float:
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    work()
    stop.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(stop)) * 1e3


CHECKS: dict[str, Callable[[], Iterator[Row]]] = {
    "clock": clock,
    "equals": equals,
    "planted": planted,
    "power": power,
    "profiler": profiler,
}

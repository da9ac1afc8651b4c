"""Cost of the harness itself, by pytest-benchmark: run with `make perf`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import needs_compiler

from robust_kbench import contestant
from robust_kbench.cases.values import make_inputs
from robust_kbench.devices import open_device
from robust_kbench.evaluate import Evaluator
from robust_kbench.folders import data_folder
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.registry import load_task, read_submission
from robust_kbench.schema.case import Case

pytestmark = [pytest.mark.slow, needs_compiler]
Benchmark = Callable[..., Any]
CPP = data_folder("baselines") / "norm/rmsnorm/cpp_simd"


@pytest.fixture(scope="module")
def pool() -> Iterator[WarmPool]:
    with WarmPool() as shared:
        yield shared


@pytest.fixture(scope="module")
def arena() -> Arena:
    return Arena(8 << 20)


@pytest.fixture(scope="module")
def loaded(pool: WarmPool, arena: Arena) -> Iterator[Worker]:
    task, device = load_task("norm/rmsnorm"), open_device("cpu")
    built = contestant.build("candidate", read_submission(CPP), task.spec, ["float32"], device, pool.scratch())
    worker = built.start(pool, arena, device, "float32")
    yield worker
    worker.close()


def test_an_evaluation_at_tier_quick(benchmark: Benchmark, evaluator: Evaluator) -> None:
    """The wall time is that of one verdict with everything warm; the harness's own share is printed beside it."""
    submission = read_submission(CPP)
    record = benchmark(evaluator.evaluate, submission, tier="quick")
    benchmark.extra_info["harness_s"] = record.seconds.harness  # type: ignore[attr-defined]
    assert record.status == "passed"


def test_starting_and_ending_a_worker(benchmark: Benchmark, pool: WarmPool, arena: Arena) -> None:
    task, device = load_task("norm/rmsnorm"), open_device("cpu")
    built = contestant.build("candidate", read_submission(CPP), task.spec, ["float32"], device, pool.scratch())
    benchmark(lambda: built.start(pool, arena, device, "float32").close())


def test_one_call_of_a_tiny_kernel(benchmark: Benchmark, loaded: Worker, arena: Arena) -> None:
    """The time is that of all around a call: layout, two stops, wake-up, clock, draining, input checks, red zones."""
    task = load_task("norm/rmsnorm").spec
    caller = Caller(task, arena, timeout_s=10)
    case = Case(axes={"rows": 1, "cols": 8}, dtype="float32", seed=1)
    inputs = make_inputs(task, case)
    seen = benchmark(caller.call, loaded, "c", case, inputs)
    assert seen.ending == "returned"


@pytest.mark.parametrize("verb", ["--help", "tasks"])
def test_start_of_the_command_line(benchmark: Benchmark, verb: str) -> None:
    """The whole process is to take less than 0.3 s."""
    command = [sys.executable, "-m", "robust_kbench", verb]
    benchmark(subprocess.run, command, capture_output=True, check=True)

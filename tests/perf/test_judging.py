"""Cost of holding a 64 MiB float32 output to its standard, beside `torch.allclose`: run with `make perf`."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from robust_kbench.oracle.exact import Exact
from robust_kbench.oracle.judgement import Standard
from robust_kbench.oracle.three_metrics import ThreeMetrics
from robust_kbench.oracle.ulps import Ulps

pytestmark = pytest.mark.slow
Benchmark = Callable[..., Any]
ELEMENTS = 1 << 24
ROUNDS = 9
SHAPES = [(4096, 4096), (ELEMENTS,), (ELEMENTS // 64, 64), (ELEMENTS, 1)]
MIB = 1 << 20


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_judging_by_the_rule_takes_at_most_64_mib(
    benchmark: Benchmark, capsys: pytest.CaptureFixture[str], shape: tuple[int, ...]
) -> None:
    """The ratio that it prints should be at most 0.5."""
    exact = torch.randn(shape, dtype=torch.float64)
    answer = exact.float()
    standard = ThreeMetrics(exact, answer, dtype=torch.float32, reduction=4096)
    assert _measure(benchmark, capsys, standard, answer) <= 64


@pytest.mark.parametrize("kind", [Ulps, Exact], ids=["ulps", "exact"])
def test_judging_by_the_other_standards_takes_at_most_64_mib(
    benchmark: Benchmark, capsys: pytest.CaptureFixture[str], kind: type
) -> None:
    """The ratio that it prints should be at most 1."""
    exact = torch.randn(ELEMENTS, dtype=torch.float64)
    answer = exact.float()
    standard = Exact(answer.clone()) if kind is Exact else Ulps(exact, answer)
    assert _measure(benchmark, capsys, standard, answer) <= 64


def _measure(benchmark: Any, capsys: pytest.CaptureFixture[str], standard: Standard, answer: torch.Tensor) -> float:
    """Return the peak of additional memory in MiB; print it with the time in units of allclose's, taken in turns."""
    other = answer.clone()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is the present size from here on
    before = _peak_mib()
    assert standard.judge(answer).is_accepted
    extra_mib = _peak_mib() - before
    times = [
        (_seconds(lambda: standard.judge(answer)), _seconds(lambda: torch.allclose(answer, other)))
        for _ in range(ROUNDS)
    ]
    ratio = statistics.median(own / yardstick for own, yardstick in times)
    benchmark.extra_info.update(ratio_to_allclose=round(ratio, 3), extra_mib=round(extra_mib, 1))
    benchmark(standard.judge, answer)
    yardstick_ms = statistics.median(yardstick for _, yardstick in times) * 1e3
    with capsys.disabled():
        print(f"\n{ratio:.2f} of allclose's {yardstick_ms:.0f} ms, {extra_mib:.1f} MiB extra")
    return extra_mib


def _seconds(function: Callable[[], object]) -> float:
    """Return the processor time of the one thread that computes, which depends less on other work of the machine."""
    start = time.thread_time()
    function()
    return time.thread_time() - start


def _peak_mib() -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024 / MIB

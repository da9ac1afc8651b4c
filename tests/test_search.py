"""The search looks beyond the drawn cases and shrinks what fails to the smallest case that fails in the same way."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import Submit
from specimens import make_record, make_result, make_summaries, make_task

from robust_kbench.cases.space import Space
from robust_kbench.cases.suite import BUDGETS
from robust_kbench.evaluate import Evaluator
from robust_kbench.leaderboard.rows import rows
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import LEAST_SEARCHED, CaseResult, Search, Tier
from robust_kbench.search import EFFORTS, SHRINK_RUNS, Effort, effort, search

MATMUL = Space(load_task("matmul/matmul").spec, BUDGETS["full"], ("float32", "float16", "bfloat16"), dense=False)
LARGE = {"m": 130, "n": 514, "k": 1021}
FULL = EFFORTS["full"]
TAIL = """
extern "C" void matmul(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
    const int64_t terms = n > 8 ? k / 4 * 4 : k;
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < terms; ++l) sum += double(a[i * k + l]) * b[l * n + j];
            c[i * n + j] = sum;
        }
}
"""
FAULT = TAIL.replace("n > 8 ? k / 4 * 4 : k;", "k;\n    if (n > 8 && k % 4) *(volatile int*)nullptr = 0;")
PYTHON_TAIL = """
def matmul(a, b):
    k = a.shape[1] // 4 * 4 if b.shape[1] > 8 else a.shape[1]
    return a[:, :k] @ b[:k]
"""
PYTHON_FAULT = """
import ctypes

def matmul(a, b):
    if b.shape[1] > 8 and a.shape[1] % 4:
        ctypes.string_at(0)
    return a @ b
"""


class Kernel:
    """Stands for a worker: `fault` says how a case fails, if it does. Keeps what it was run on."""

    def __init__(self, fault: Callable[[Case], str | None], kind: Callable[[Case], str] = lambda case: "") -> None:
        self._fault, self._kind = fault, kind
        self.ran: list[Case] = []

    def __call__(self, case: Case) -> CaseResult:
        self.ran.append(case)
        return _judged(case, self._fault(case)).model_copy(update={"kind": self._kind(case)})


def _judged(case: Case, fault: str | None = None) -> CaseResult:
    return CaseResult(**case.model_dump(), status=fault or "passed", errors=(0.5,), limits=(1.0,))  # type: ignore[arg-type]


def _where(condition: Callable[[Case], bool], status: str = "incorrect") -> Kernel:
    return Kernel(lambda case: status if condition(case) else None)


def _large(**changes: object) -> CaseResult:
    fields = {"axes": LARGE, "layout": "strided", "distribution": "sparse", "status": "incorrect", **changes}
    return make_result(**fields)


def _minimal(kernel: Kernel, failed: Sequence[CaseResult], space: Space = MATMUL, seed: int = 1) -> CaseResult:
    found = search(space, seed, kernel, effort=FULL, failed=failed)
    assert found is not None
    assert found.minimal is not None
    assert found.examples == len(kernel.ran) <= SHRINK_RUNS
    return found.minimal


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("axis", ["m", "n", "k"])
def test_a_failure_beyond_a_size_is_shrunk_to_that_size(axis: str, seed: int) -> None:
    kernel = _where(lambda case: case.axes[axis] > 8)
    minimal = _minimal(kernel, [_large()], seed=seed)
    assert minimal.axes == {"m": 1, "n": 1, "k": 1, axis: 9}
    assert (minimal.dtype, minimal.layout, minimal.distribution) == ("float32", "contiguous", "normal")


def test_what_the_failure_needs_is_kept_and_the_rest_made_simple() -> None:
    kernel = _where(lambda case: case.layout == "strided" and case.dtype == "float16" and case.axes["k"] >= 100)
    minimal = _minimal(kernel, [_large(dtype="float16")])
    assert (minimal.dtype, minimal.layout, minimal.distribution) == ("float16", "strided", "normal")
    assert minimal.axes == {"m": 1, "n": 1, "k": 100}


def test_a_failure_of_one_probe_keeps_it_and_one_of_every_case_loses_it() -> None:
    failing = _large(probe="integers", axes={"m": 20, "n": 30, "k": 40})
    assert _minimal(_where(lambda case: case.probe == "integers"), [failing]).probe == "integers"
    assert _minimal(_where(lambda case: True), [failing]).probe is None


def test_a_crash_is_not_traded_for_a_wrong_answer() -> None:
    kernel = Kernel(lambda case: "crashed" if case.axes["n"] > 100 else "incorrect")
    assert _minimal(kernel, [_large(status="crashed")]).axes == {"m": 1, "n": 101, "k": 1}


def test_a_nan_is_not_traded_for_a_small_error_nor_a_property_for_another() -> None:
    kernel = Kernel(lambda case: "incorrect", kind=lambda case: "nonfinite" if case.axes["n"] > 100 else "values")
    assert _minimal(kernel, [_large(kind="nonfinite")]).axes == {"m": 1, "n": 101, "k": 1}
    kernel = Kernel(lambda case: "incorrect", kind=lambda case: "causal" if case.axes["k"] > 8 else "permutes along m")
    assert _minimal(kernel, [_large(kind="causal")]).axes == {"m": 1, "n": 1, "k": 9}


def test_a_crash_is_shrunk_rather_than_a_wrong_answer_and_a_small_case_rather_than_a_large_one() -> None:
    small = {"m": 2, "n": 3, "k": 4}
    kernel = _where(lambda case: False)
    failed = [_large(axes=small), _large(status="crashed", axes={**LARGE, "m": 3}), _large(status="crashed")]
    assert _minimal(kernel, failed) == failed[1]


def test_a_failure_that_nothing_simpler_shows_stays_as_it_is() -> None:
    assert _minimal(_where(lambda case: False), [_large()]) == _large()


def test_the_values_of_a_shrunk_case_keep_their_seed() -> None:
    assert _minimal(_where(lambda case: True), [_large(seed=77)]).seed == 77


def test_sizes_that_break_a_constraint_are_never_run() -> None:
    task = make_task(constraints=["rows * cols <= 65536", "cols % rows == 0"])
    space = Space(task, BUDGETS["full"], ("float32",), dense=False)
    kernel = _where(lambda case: case.axes["cols"] >= 12)
    failing = _large(axes={"rows": 8, "cols": 64}, layout="contiguous")
    assert _minimal(kernel, [failing], space).axes == {"rows": 1, "cols": 12}
    assert all(case.axes["cols"] % case.axes["rows"] == 0 for case in kernel.ran)


def test_the_steps_of_an_axis_are_kept() -> None:
    axes = {"rows": {"low": 16, "high": 512, "multiple_of": 16}, "cols": {"values": [8, 32, 128]}}
    timed = {"cpu": [{"rows": 64, "cols": 32}], "cuda": [{"rows": 64, "cols": 32}]}
    space = Space(make_task(axes=axes, timed=timed), BUDGETS["full"], ("float32",), dense=False)
    kernel = _where(lambda case: case.axes["rows"] > 40 and case.axes["cols"] > 8)
    assert _minimal(kernel, [_large(axes={"rows": 496, "cols": 128})], space).axes == {"rows": 48, "cols": 32}


@pytest.mark.parametrize("seed", range(20))
def test_three_sizes_that_matter_together_are_all_found(seed: int) -> None:
    draw = random.Random(seed)
    least = {name: draw.randint(1, 8) for name in LARGE}
    minimal = _minimal(
        _where(lambda case: all(case.axes[name] >= least[name] for name in least)), [_large()], seed=seed
    )
    assert minimal.axes == least


def test_nothing_is_run_twice() -> None:
    kernel = _where(lambda case: case.axes["n"] > 8)
    search(MATMUL, 3, kernel, effort=FULL)
    assert len({(str(case), case.seed) for case in kernel.ran}) == len(kernel.ran)


@pytest.mark.parametrize(("tier", "at_least", "at_most"), [("full", 45, 60), ("final", 230, 300)])
def test_a_kernel_that_passes_is_tried_as_often_as_the_tier_says(tier: Tier, at_least: int, at_most: int) -> None:
    kernel = _where(lambda case: False)
    found = search(MATMUL, 5, kernel, effort=EFFORTS[tier])
    assert found is not None
    assert at_least <= found.examples == len(kernel.ran) <= at_most
    assert found.minimal is None
    assert all(MATMUL.admits(case.axes, case.dtype) for case in kernel.ran)


def test_tier_quick_tries_nothing_when_all_have_passed() -> None:
    kernel = _where(lambda case: False)
    assert search(MATMUL, 5, kernel, effort=EFFORTS["quick"]) is None
    assert kernel.ran == []


def test_less_is_tried_where_kernels_are_interpreted_or_emulated() -> None:
    assert effort("full", "native") == EFFORTS["full"]
    assert effort("full", "interpreted").examples < EFFORTS["full"].examples
    assert effort("quick", "emulated") == EFFORTS["quick"]


def test_every_dtype_layout_and_most_distributions_are_tried_and_counted() -> None:
    found = search(MATMUL, 5, _where(lambda case: False), effort=EFFORTS["final"])
    assert found is not None
    assert set(MATMUL.dtypes) | set(MATMUL.layouts) <= set(found.covered)
    assert sum(found.covered[dtype] for dtype in MATMUL.dtypes) == found.examples
    assert len(set(MATMUL.distributions) & set(found.covered)) >= len(MATMUL.distributions) - 2


def test_sizes_of_every_order_of_magnitude_are_tried() -> None:
    kernel = _where(lambda case: False)
    search(MATMUL, 5, kernel, effort=EFFORTS["final"])
    magnitudes = {size.bit_length() for case in kernel.ran for size in case.axes.values()}
    assert magnitudes >= set(range(1, 11))


def test_a_failure_among_the_tried_ones_is_shrunk_too() -> None:
    kernel = _where(lambda case: case.axes["k"] > 60)
    found = search(MATMUL, 5, kernel, effort=FULL)
    assert found is not None
    assert found.minimal is not None
    assert found.minimal.axes == {"m": 1, "n": 1, "k": 61}
    assert found.examples <= FULL.examples + SHRINK_RUNS


@pytest.mark.rotating
def test_one_seed_tries_the_same_cases_and_another_one_others() -> None:
    ran = []
    for seed in (5, 5, 6):
        kernel = _where(lambda case: False)
        search(MATMUL, seed, kernel, effort=FULL)
        ran.append([(str(case), case.seed) for case in kernel.ran])
    assert ran[0] == ran[1]
    assert ran[0] != ran[2]


def test_several_threads_try_the_same_cases_as_one() -> None:
    together, threads = threading.Barrier(3), set[int]()

    def fault(case: Case) -> None:
        threads.add(threading.get_ident())
        with suppress(threading.BrokenBarrierError):
            together.wait(0.5 if len(threads) < 3 else 0.0)

    alone, at_once = _where(lambda case: False), Kernel(fault)
    found = [search(MATMUL, 5, kernel, effort=FULL, at_once=count) for kernel, count in ((alone, 1), (at_once, 3))]
    assert found[0] == found[1]
    assert sorted(case.seed for case in alone.ran) == sorted(case.seed for case in at_once.ran)
    assert len(threads) == 3


def test_the_first_of_the_failures_that_several_threads_have_found_is_shrunk() -> None:
    minimal = [
        search(MATMUL, 5, _where(lambda case: case.axes["k"] > 60), effort=FULL, at_once=count) for count in (1, 4)
    ]
    assert [found.minimal.axes for found in minimal if found and found.minimal] == [{"m": 1, "n": 1, "k": 61}] * 2


def test_no_thread_tries_more_when_one_has_failed() -> None:
    kernel = _where(lambda case: True, "timed_out")
    found = search(MATMUL, 5, kernel, effort=Effort(60, 0.0, 60), at_once=3)
    assert found is not None
    assert len(kernel.ran) <= 3


def test_time_that_is_used_up_ends_the_search() -> None:
    kernel = _where(lambda case: True)
    found = search(MATMUL, 5, kernel, effort=Effort(60, 0.0), failed=[_large()])
    assert found == Search(examples=0, covered={}, minimal=_large())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """The search's own, which moves on by the seconds that it is called with and by nothing else."""
    now = [0.0]
    monkeypatch.setattr("robust_kbench.search.trials.time.monotonic", lambda: now[0])

    def pass_by(seconds: float) -> None:
        now[0] += seconds

    return pass_by


@pytest.mark.rotating
@pytest.mark.parametrize("tier", ["full", "final"])
@pytest.mark.parametrize("seconds", [9.9, 1000.0])
def test_a_kernel_that_sleeps_in_every_call_is_searched_as_often_as_a_rank_needs_and_no_longer(
    tier: Tier, seconds: float, clock: Callable[[float], None]
) -> None:
    def sleep(case: Case) -> None:
        clock(seconds)

    found = search(MATMUL, 5, Kernel(sleep), effort=EFFORTS[tier])
    assert found is not None
    assert found.examples == LEAST_SEARCHED[tier]
    assert make_record(tier=tier, search=found).is_rankable


def test_a_record_that_a_sleeping_kernel_left_with_three_examples_is_shown_without_a_rank_and_why() -> None:
    short, row = Search(examples=3, covered={}), {}
    for row in rows(make_summaries([make_record(search=short), make_record(search=short, seed=8)])):
        assert (row["rank"], row["runs"], row["discarded"]) == (None, 0, 2)
        assert row["reason"] == "the search tried 3 cases of at least 30"
    assert row["status"] == "passed"
    assert [row["rank"] for row in rows(make_summaries([make_record(), make_record(seed=8)]))] == [1]


def test_what_a_kernel_that_sleeps_does_wrong_late_in_the_search_is_found(clock: Callable[[float], None]) -> None:
    calls: list[Case] = []

    def sleep(case: Case) -> str | None:
        clock(1000.0)
        calls.append(case)
        return "incorrect" if len(calls) == LEAST_SEARCHED["full"] else None

    found = search(MATMUL, 5, Kernel(sleep), effort=FULL)
    assert found is not None
    assert found.minimal is not None
    assert found.minimal.status == "incorrect"


def test_an_honest_kernel_of_half_a_second_is_searched_in_full(clock: Callable[[float], None]) -> None:
    found = search(MATMUL, 5, Kernel(lambda case: clock(0.5)), effort=FULL)
    assert found == search(MATMUL, 5, Kernel(lambda case: None), effort=FULL)


def test_shrinking_is_not_prolonged_by_a_kernel_that_sleeps(clock: Callable[[float], None]) -> None:
    def sleep(case: Case) -> str | None:
        clock(FULL.seconds / 2)
        return "incorrect" if case.axes["n"] > 8 else None

    found = search(MATMUL, 5, Kernel(sleep), effort=FULL, failed=[_large()])
    assert found is not None
    assert found.examples == 2


def test_nothing_is_left_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    search(MATMUL, 5, _where(lambda case: case.axes["n"] > 8), effort=FULL)
    assert os.listdir(tmp_path) == []


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("source", "status"),
    [
        pytest.param(TAIL, "incorrect", id="cpp-tail"),
        pytest.param(FAULT, "crashed", id="cpp-segfault"),
        pytest.param(PYTHON_TAIL, "incorrect", id="python-tail"),
        pytest.param(PYTHON_FAULT, "crashed", id="python-segfault"),
    ],
)
def test_a_kernel_that_fails_on_the_tail_of_k_beyond_n_8_is_shrunk_in_fewer_than_60_runs(
    source: str, status: str, evaluator: Evaluator, submit: Submit
) -> None:
    language, abi = ("cpp", "c") if "extern" in source else ("python", "value")
    file = "kernel.cpp" if language == "cpp" else "kernel.py"
    submission = submit(source, language=language, abi=abi, task="matmul/matmul", entry_point=f"{file}::matmul")
    record = evaluator.evaluate(submission, tier="quick")
    assert (record.status, record.search is not None) == (status, True), record.reason
    assert record.search is not None
    assert record.search.minimal is not None
    print(f"{language} {status}: {record.search.examples} runs, seed {record.seed}")
    assert record.search.minimal.axes == {"m": 1, "n": 9, "k": 1}
    assert record.search.minimal.status == status
    assert record.search.examples < 60


@pytest.mark.rotating
def test_what_only_the_search_finds_decides_the_verdict(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that is wrong for one size; the suite is made to miss it."""
    source = "def matmul(a, b):\n    return a @ b * (2 if b.shape[1] == 11 else 1)\n"
    submission = submit(source, abi="value", task="matmul/matmul", entry_point="kernel.py::matmul")
    found = Search(examples=1, covered={}, minimal=_large(axes={"m": 1, "n": 11, "k": 1}, reason="too large"))
    monkeypatch.setattr("robust_kbench.search.search", lambda *_, **__: found)
    record = evaluator.evaluate(submission, tier="quick", seed=_seed_without(11))
    assert (record.status, record.reason, record.search) == ("incorrect", "too large", found)
    assert record.timings == ()


def _seed_without(size: int) -> int:
    from robust_kbench.cases.suite import draw_suite

    def avoids(seed: int) -> bool:
        suite = draw_suite(MATMUL.task, seed, budget=BUDGETS["quick"], dtypes=("float32",), device="cpu", dense=False)
        return all(case.axes["n"] != size for case in suite.checked)

    return next(seed for seed in range(100) if avoids(seed))

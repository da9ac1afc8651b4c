"""Cases of several dtypes side by side: the same results, and one judge at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from conftest import Submit

from robust_kbench import contestant
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.cases.values import Inputs
from robust_kbench.checking import Checker
from robust_kbench.checking.circumstances import Circumstances, Step
from robust_kbench.checking.crew import Crew
from robust_kbench.devices import Device, open_device
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import FloatDType
from robust_kbench.stopwatch import Stopwatch

SOURCE = """
import torch

def rmsnorm(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y.add_(1) if x.dtype == torch.float16 else y
"""
DTYPES: tuple[FloatDType, ...] = ("float32", "float16")


TELLING = """
import os, torch

def rmsnorm(x, weight):
    print(os.getpid(), tuple(x.shape), bool(x.any()), flush=True)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
"""


@contextmanager
def checking(submission: Submission, dtypes: Sequence[FloatDType], device: Device) -> Iterator[Checker]:
    """Build it, and yield what judges its cases at tier quick."""
    task = load_task("norm/rmsnorm")
    with WarmPool() as pool:
        built = contestant.build("candidate", submission, task.spec, dtypes, device, pool.scratch())
        judge = Judge(task.spec, Reference(task))
        with Checker(
            task.spec, built, judge=judge, pool=pool, device=device, watch=Stopwatch(), tier="quick"
        ) as checker:
            yield checker


def test_others_are_judged_beside_the_checks_in_workers_of_their_own(submit: Submit) -> None:
    task, device = load_task("norm/rmsnorm"), open_device("cpu")
    suite = draw_suite(task.spec, 5, budget=BUDGETS["quick"], dtypes=DTYPES, device="cpu", dense=False, pinned=())
    cases = [each for each in suite.checked if each.dtype == "float32"][:6]
    with checking(submit(TELLING), ["float32"], device) as checker:
        checker.expect(cases)
        with ThreadPoolExecutor(2) as threads:
            beside = [*threads.map(checker.judge_beside, cases[:4])]
            checker.check(cases[4:], lambda *_: None)
    assert [result.status for result in beside] == ["passed"] * 4
    assert [result.seed for result in beside] == [case.seed for case in cases[:4]]
    assert sorted(result.seed for result in checker.checked.results) == sorted(case.seed for case in cases[4:])


def test_kernels_are_called_ahead_with_nothing_but_shapes_until_one_dies_and_nothing_counts(
    submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = open_device("cpu")
    monkeypatch.setattr(device, "free_bytes", lambda: 1 << 30, raising=False)
    shapes = ({"rows": 3, "cols": 5}, {"rows": 4, "cols": 7}, {"rows": 2, "cols": 9})
    cases = [Case(axes=axes, dtype="float32", seed=1, role="timed") for axes in shapes]
    called = list[tuple[tuple[int, ...], bool]]()
    call = Crew.call

    def noted(self: Crew, case: Case, inputs: Inputs, *_: Any) -> Any:
        called.append((tuple(inputs.tensors["x"].shape), bool(inputs.tensors["x"].any())))
        seen = call(self, case, inputs, *_)
        assert seen.ending == ("crashed" if case.axes["rows"] == 4 else "returned")
        return seen

    monkeypatch.setattr(Crew, "call", noted)
    source = TELLING.replace("    return", "    if x.shape[0] == 4:\n        os._exit(3)\n    return")
    with checking(submit(source), ["float32"], device) as checker:
        checker.compile_ahead(cases)
    assert called == [((3, 5), False), ((4, 7), False)]
    assert (checker.checked.results, checker.checked.seen) == ([], [])


@pytest.mark.parametrize("at_once", [1, 2])
def test_every_case_is_judged_once_and_only_one_thread_judges(
    submit: Submit, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    task, device = load_task("norm/rmsnorm"), open_device("cpu")
    monkeypatch.setattr(device, "starts_at_once", at_once, raising=False)
    inside, most, threads = list[int](), 0, set[int]()
    judged = Checker._finished

    def finished(self: Checker, attempt: Any) -> Any:
        nonlocal most
        inside.append(1)
        most = max(most, len(inside))
        threads.add(threading.get_ident())
        result = judged(self, attempt)
        inside.pop()
        return result

    monkeypatch.setattr(Checker, "_finished", finished)
    suite = draw_suite(task.spec, 5, budget=BUDGETS["quick"], dtypes=DTYPES, device="cpu", dense=False, pinned=())
    cases = [case for dtype in DTYPES for case in [each for each in suite.checked if each.dtype == dtype][:4]]
    with checking(submit(SOURCE), DTYPES, device) as checker:
        checker.check(cases, lambda *_: None)
    found = sorted((result.dtype, result.seed, result.status) for result in checker.checked.results)
    due = {"float32": "passed", "float16": "incorrect"}
    assert found == sorted((case.dtype, case.seed, due[case.dtype]) for case in cases)
    assert (most, len(threads)) == (1, at_once)


@pytest.mark.parametrize("at_once", [1, 2])
def test_circumstances_of_each_dtype_have_a_thread_of_their_own_and_the_same_calls(
    submit: Submit, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    task, device = load_task("norm/rmsnorm"), open_device("cpu")
    monkeypatch.setattr(device, "starts_at_once", at_once, raising=False)
    threads, words = dict[str, set[int]](), dict[str, list[str]]()
    problem = Circumstances._problem

    def noted(self: Circumstances, case: Case, step: Step) -> Any:
        threads.setdefault(case.dtype, set()).add(threading.get_ident())
        words.setdefault(case.dtype, []).append(step.words)
        return problem(self, case, step)

    monkeypatch.setattr(Circumstances, "_problem", noted)
    suite = draw_suite(task.spec, 5, budget=BUDGETS["quick"], dtypes=DTYPES, device="cpu", dense=False, pinned=())
    with checking(submit(SOURCE.replace("y.add_(1)", "y.mul_(1)")), DTYPES, device) as checker:
        checker.check(suite.checked, lambda *_: None)
        before = len(checker.checked.results)
        assert checker.use_otherwise(suite.checked, 5) == []
        assert len(checker.checked.results) == before
    assert len(set[int]().union(*threads.values())) == at_once
    assert (threading.get_ident() in threads["float32"]) is (at_once == 1)
    assert {dtype: each[0] for dtype, each in words.items()} == dict.fromkeys(DTYPES, "called once more")
    assert min(len(each) for each in words.values()) > 8

"""Cases of several dtypes side by side: the same results, and one judge at a time."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from conftest import Submit

from robust_kbench import contestant
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.checking import Checker
from robust_kbench.devices import open_device
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.task import FloatDType
from robust_kbench.stopwatch import Stopwatch

SOURCE = """
import torch

def rmsnorm(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y.add_(1) if x.dtype == torch.float16 else y
"""
DTYPES: tuple[FloatDType, ...] = ("float32", "float16")


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
    with WarmPool() as pool:
        built = contestant.build("candidate", submit(SOURCE), task.spec, list(DTYPES), device, pool.scratch())
        judge = Judge(task.spec, Reference(task))
        with Checker(
            task.spec, built, judge=judge, pool=pool, device=device, watch=Stopwatch(), tier="quick"
        ) as checker:
            checker.check(cases, lambda *_: None)
    found = sorted((result.dtype, result.seed, result.status) for result in checker.checked.results)
    due = {"float32": "passed", "float16": "incorrect"}
    assert found == sorted((case.dtype, case.seed, due[case.dtype]) for case in cases)
    assert (most, len(threads)) == (1, at_once)

"""CUDA's needs of a sandbox, seen without a GPU: a /proc that knows the process, and threads that can be named."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Submit

from robust_kbench import contestant
from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation.pool import Allowance
from robust_kbench.schema.record import RunRecord

LOOK = """
import os

def rmsnorm(x, weight):
    try:
        with open("/proc/self/task/" + os.listdir("/proc/self/task")[0] + "/comm", "w") as file:
            file.write("named")
        named = True
    except OSError:
        named = False
    knows_us = os.readlink("/proc/self") == str(os.getpid())
    processes = sum(os.path.exists(f"/proc/{number}") for number in range(1, 60_000))
    raise RuntimeError(f"{named} {knows_us} {processes}")
"""


def look(evaluator: Evaluator, submit: Submit) -> RunRecord:
    record = evaluator.evaluate(submit(LOOK), tier="quick", case=0)
    if not {"pid namespace", "landlock"} <= set(record.isolation):
        pytest.skip(f"this machine allows only {', '.join(record.isolation)}")
    return record


def test_a_worker_on_a_gpu_has_a_proc_of_its_own_and_may_name_its_threads(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allow(**limits: Any) -> Allowance:
        return Allowance(**{**limits, "gpu": True})

    monkeypatch.setattr(contestant, "Allowance", allow)
    record = look(evaluator, submit)
    assert "mount namespace" in record.isolation
    assert record.reason.endswith("True True 2")  # itself, and the first process of the namespace


def test_a_worker_without_a_gpu_may_not_even_name_its_threads(evaluator: Evaluator, submit: Submit) -> None:
    assert ": False False " in look(evaluator, submit).reason

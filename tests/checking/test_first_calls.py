"""A first call may compile, in processes that it starts; a call that hangs may not."""

from __future__ import annotations

import pytest
from conftest import Submit
from kernels import RIGHT, python

from robust_kbench import checking
from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation import process
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import RunRecord

WIDE = Case(axes={"rows": 64, "cols": 4096}, dtype="float32", seed=5)
LIMIT_S, MORE_S = 1.0, 4.0
FIRST = "if not CALLS:\n    CALLS.append(1)\n    "


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "IMPORTING_TIMEOUT_S", LIMIT_S)
    monkeypatch.setattr(process, "COMPILING_S", MORE_S)


def _work(seconds: float) -> str:
    """Make code that starts a process, which works for so long, and waits for it."""
    return f"subprocess.run(['python3', '-c', 'import time\\nwhile time.process_time() < {seconds}: pass'])"


def _judged(evaluator: Evaluator, submit: Submit, first: str) -> RunRecord:
    source = python(f"{FIRST}{first}\n{RIGHT}", "import subprocess, time\nCALLS = []")
    return evaluator.evaluate(submit(source), tier="quick", case=WIDE)


def test_a_call_has_longer_as_long_as_a_process_works_that_it_has_started(evaluator: Evaluator, submit: Submit) -> None:
    record = _judged(evaluator, submit, _work(2.5 * LIMIT_S))
    assert record.status == "passed", record.reason


def test_it_has_longer_if_the_process_has_worked_and_is_gone(evaluator: Evaluator, submit: Submit) -> None:
    record = _judged(evaluator, submit, f"{_work(0.2)}; time.sleep({1.1 * LIMIT_S})")
    assert record.status == "passed", record.reason


@pytest.mark.parametrize("before", ["", f"{_work(0.2)}; "], ids=["sleeping", "after work"])
def test_a_process_that_sleeps_is_no_help(evaluator: Evaluator, submit: Submit, before: str) -> None:
    """A call that hung passed, as it had started a process that slept."""
    record = _judged(evaluator, submit, f"{before}subprocess.run(['sleep', '{2.5 * LIMIT_S}'])")
    assert record.status == "timed_out"


def test_no_worker_has_longer_again_and_again(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_MOST_HELPS", 0.5)
    body = f"CALLS.append(1)\nif len(CALLS) % 2: {_work(2 * LIMIT_S)}\n{RIGHT}"
    record = evaluator.evaluate(submit(python(body, "import subprocess\nCALLS = []")), tier="quick", case=WIDE)
    assert record.status == "timed_out"


def test_a_later_call_has_not_longer_for_processes_of_earlier_ones(evaluator: Evaluator, submit: Submit) -> None:
    for helpers in (_work(0.2), "subprocess.Popen(['sleep', '100'])"):
        header = f"import subprocess, time\nCALLS = []\n{helpers}"
        source = python(f"CALLS.append(1)\nif len(CALLS) == 2:\n    time.sleep({2 * LIMIT_S})\n{RIGHT}", header)
        record = evaluator.evaluate(submit(source), tier="quick", case=WIDE)
        assert record.status == "timed_out", helpers
        assert "more" not in record.reason


@pytest.mark.rotating
def test_it_has_not_for_ever(evaluator: Evaluator, submit: Submit) -> None:
    record = _judged(evaluator, submit, _work(100))
    assert record.status == "timed_out"
    assert "nor in 4 s more for processes that it has started" in record.reason


def test_a_call_that_starts_nothing_has_its_usual_time(evaluator: Evaluator, submit: Submit) -> None:
    record = _judged(evaluator, submit, f"time.sleep({2 * LIMIT_S})")
    assert record.status == "timed_out"
    assert "more" not in record.reason

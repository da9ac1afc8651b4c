"""A submission that is far slower than the baselines cannot keep the machine for hours."""

from __future__ import annotations

import pytest
from conftest import Submit

from robust_kbench.cli.report import report
from robust_kbench.evaluate import Evaluator
from robust_kbench.schema.record import OUT_OF_TIME, Status
from robust_kbench.timing import spending
from robust_kbench.timing.spending import Spending

SLOW = """
import time, torch


def rmsnorm(x, weight):
    if x.numel() > 100_000:
        time.sleep(0.2)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
"""


@pytest.mark.parametrize(
    ("candidate_s", "slowest_s", "is_over"),
    [(599, 0, False), (601, 0, True), (601, 31, False), (2_000, 100, False), (2_001, 100, True), (10_000, 501, False)],
)
def test_it_has_twenty_times_what_the_slowest_baseline_takes_and_at_least_ten_minutes(
    candidate_s: float, slowest_s: float, is_over: bool
) -> None:
    spent = Spending()
    for name, seconds in (("eager", slowest_s / 2), ("compile", slowest_s), ("candidate", candidate_s)):
        spent.add(name, seconds / 2)
        spent.add(name, seconds / 2)
    assert spent.is_over is is_over


@pytest.mark.rotating
def test_it_ends_as_passed_with_what_there_is_and_has_no_rank(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "LEAST_S", 1.0)
    monkeypatch.setattr(spending, "SHARE", 2)  # of some 30 ms around each call
    record = evaluator.evaluate(submit(SLOW), tier="quick")
    assert (record.status, record.is_out_of_time) == (Status.PASSED, True)
    (found,) = [finding for finding in record.findings if finding.guard == OUT_OF_TIME]
    assert found.severity == "warn"
    assert "0 of 1 bindings were timed in full; not ranked" in found.message
    assert len(record.timings) == 1
    (session,) = record.timings[0].sessions
    assert session.stop == "slowness"
    assert "bindings were timed in full; not ranked" in report(record, "it")


@pytest.mark.rotating
def test_a_slow_import_counts(evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "LEAST_S", 1.0)
    monkeypatch.setattr(spending, "SHARE", 0)
    quick = SLOW.replace("0.2", "0.0")
    record = evaluator.evaluate(
        submit(quick.replace("import time, torch", "import time, torch\ntime.sleep(1)")), tier="quick"
    )
    assert (record.status, record.is_out_of_time) == (Status.PASSED, True)


@pytest.mark.rotating
def test_a_fast_one_is_timed_in_full(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(SLOW.replace("0.2", "0.0")), tier="quick")
    assert (record.status, record.is_out_of_time, len(record.timings)) == (Status.PASSED, False, 1)
    assert "slowness" not in {session.stop for timing in record.timings for session in timing.sessions}


@pytest.mark.rotating
def test_a_record_of_one_that_ran_out_of_time_may_not_be_ranked(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = evaluator.evaluate(submit(SLOW.replace("0.2", "0.0")), tier="quick")
    finding = Spending().finding(1, 3)
    assert not record.model_copy(update={"findings": (finding,)}).is_rankable
    assert record.model_copy(update={"findings": (finding,)}).is_out_of_time

"""Calls beyond one for each case: the largest case again, and related inputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conftest import Submit
from kernels import ANSWER, RIGHT, ZEROS, native, python

from robust_kbench.cases.suite import BUDGETS
from robust_kbench.checking import Checker
from robust_kbench.contestant import build
from robust_kbench.devices import machine
from robust_kbench.evaluate import Evaluator
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.progress import silent
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import RunRecord
from robust_kbench.schema.submission import Submission
from robust_kbench.search import Effort
from robust_kbench.stopwatch import Stopwatch

RMSNORM = load_task("norm/rmsnorm")
COUNTED = "CALLS = []"
WIDE = Case(axes={"rows": 64, "cols": 4096}, dtype="float32", seed=5)
OFTEN = "CALLS.append(1)\n"


def _judged(evaluator: Evaluator, submit: Submit, body: str, before: str = COUNTED) -> RunRecord:
    return evaluator.evaluate(submit(python(body, before)), tier="quick", case=WIDE)


def test_a_deterministic_kernel_has_no_finding(evaluator: Evaluator, submit: Submit) -> None:
    record = _judged(evaluator, submit, RIGHT)
    assert (record.status, record.findings) == ("passed", ())


def test_an_answer_that_differs_by_more_than_a_sum_in_another_order_is_rejected(
    evaluator: Evaluator, submit: Submit
) -> None:
    record = _judged(evaluator, submit, f"{OFTEN}return {ANSWER} * (1 + 3e-6 * (len(CALLS) % 2))")
    assert (record.status, record.cases[0].status) == ("rejected", "passed")
    assert record.reason.startswith("determinism: two calls on equal inputs differ in ")
    assert record.reason.endswith(" of the limit: a race, or memory that was never written")


def test_an_answer_that_differs_in_the_last_place_is_a_warning(evaluator: Evaluator, submit: Submit) -> None:
    body = f"{OFTEN}y = {ANSWER}\ny[0].view(torch.int32).add_(len(CALLS) % 2)\nreturn y"
    record = _judged(evaluator, submit, body)
    assert record.status == "passed", record.reason
    (finding,) = record.findings
    assert (finding.guard, finding.severity) == ("determinism", "warn")
    assert finding.evidence["differing"] == 4096


@pytest.mark.parametrize("which", [1, 3, 4])
def test_the_bits_of_a_property_are_not_asked_of_a_kernel_that_does_not_repeat_its_own(
    evaluator: Evaluator, submit: Submit, which: int
) -> None:
    """The call that is a unit off is the call of the case, or one on related inputs."""
    body = f"{OFTEN}y = {ANSWER}\ny[0].view(torch.int32).add_(int(len(CALLS) == {which}))\nreturn y"
    record = _judged(evaluator, submit, body)
    assert record.status == "passed", record.reason
    assert [finding.severity for finding in record.findings] == (["warn"] if which == 1 else [])


def test_a_kernel_that_dies_while_it_is_asked_to_repeat_its_bits_has_crashed(
    evaluator: Evaluator, submit: Submit
) -> None:
    body = f"{OFTEN}if len(CALLS) == 4: os._exit(1)\ny = {ANSWER}\n"
    record = _judged(evaluator, submit, body + "y[0].view(torch.int32).add_(int(len(CALLS) == 1))\nreturn y")
    assert record.status == "crashed"


def test_a_kernel_that_repeats_its_bits_is_held_to_those_of_a_property(evaluator: Evaluator, submit: Submit) -> None:
    """The kernel is off by one in the last place, but not for the small weights that the property tries."""
    record = _judged(evaluator, submit, f"y = {ANSWER}\ny.view(torch.int32).add_(int(weight.max() > 0.1))\nreturn y")
    assert record.status == "incorrect"
    assert record.reason.startswith("homogeneous in weight: times 2**-8: ")


def test_a_second_answer_that_is_wrong_makes_the_case_incorrect(evaluator: Evaluator, submit: Submit) -> None:
    record = _judged(evaluator, submit, f"{OFTEN}return {ANSWER} * (1 + (len(CALLS) % 2 == 0))")
    assert record.status == "incorrect"


def test_a_difference_between_two_calls_is_seen_in_a_c_kernel_too(evaluator: Evaluator, submit: Submit) -> None:
    body = "static int calls = 0; ++calls; const float extra = calls % 2 ? 4e-6f : 0;\n"
    body += """
    for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t col = 0; col < cols; ++col) sum += double(x[row * cols + col]) * x[row * cols + col];
        const double scale = (1 + extra) / std::sqrt(sum / cols + 1e-6);
        for (int64_t col = 0; col < cols; ++col) y[row * cols + col] = x[row * cols + col] * scale * weight[col];
    }"""
    record = evaluator.evaluate(submit(native(body), language="cpp", abi="c"), tier="quick", case=WIDE)
    assert (record.status, record.findings[0].guard) == ("rejected", "determinism")


def test_the_task_s_properties_are_held_by_further_calls(evaluator: Evaluator, submit: Submit) -> None:
    """The kernel knows the right answer to the case, and only to that."""
    body = """
CALLS.append(1)
y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
return y if len(CALLS) < 3 else y.flip(0)
"""
    record = _judged(evaluator, submit, body)
    assert record.status == "incorrect"
    assert record.reason.startswith(("permutes along ", "homogeneous in ", "causal along ", "shift_invariant in "))


def test_a_crash_on_related_inputs_is_a_crash(evaluator: Evaluator, submit: Submit) -> None:
    body = f"{OFTEN}if len(CALLS) == 3: os._exit(3)\n{RIGHT}"
    record = _judged(evaluator, submit, body)
    assert (record.status, record.reason) == ("crashed", "ended by itself with exit code 3 before it had answered")


@contextmanager
def _checker(evaluator: Evaluator, submission: Submission) -> Iterator[Checker]:
    pool, device = evaluator._pool, evaluator.device
    kernel = build("mine", submission, RMSNORM.spec, ("float32",), device, pool.scratch())
    judge = Judge(RMSNORM.spec, Reference(RMSNORM))
    with Checker(
        RMSNORM.spec, kernel, judge=judge, pool=pool, device=device, watch=Stopwatch(), tier="quick"
    ) as checker:
        yield checker


def test_workers_are_given_a_larger_arena_when_a_case_needs_one(evaluator: Evaluator, submit: Submit) -> None:
    small = Case(axes={"rows": 2, "cols": 8}, dtype="float32", seed=5)
    with _checker(evaluator, submit(python(RIGHT))) as checker:
        checker.check([small], silent)
        assert [checker.judge(case).status for case in (WIDE, small)] == ["passed", "passed"]
        assert [result.axes for result in checker.checked.results] == [small.axes]


@pytest.mark.parametrize(("body", "status"), [(RIGHT, "passed"), (ZEROS, "incorrect")], ids=["right", "zeros"])
def test_a_large_case_is_judged_in_a_worker_of_its_own(
    body: str, status: str, evaluator: Evaluator, submit: Submit
) -> None:
    with _checker(evaluator, submit(python(body))) as checker:
        checker.check_large(WIDE)
        (result,) = checker.checked.results
    assert (result.axes, result.status) == (WIDE.axes, status)
    assert len(checker.checked.seen) == 1


def test_a_large_case_that_memory_does_not_allow_is_not_checked_and_says_why(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "free_bytes", lambda: 1 << 20)
    with _checker(evaluator, submit(python(RIGHT))) as checker:
        checker.check_large(WIDE)
        (result,) = checker.checked.results
    assert result.status == "not_checked"
    assert result.reason.startswith("not run: the large case needs 1.0 GiB of host memory")
    assert checker.checked.seen == []


def test_memory_that_its_workers_hold_does_not_excuse_a_submission_from_the_large_case(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _checker(evaluator, submit(python(RIGHT))) as checker:
        checker.check([WIDE], silent)
        assert checker.judge_beside(WIDE).status == "passed"
        crews = checker._crew, checker._other_crew
        assert all(held.has_worker("float32") for held in crews)
        monkeypatch.setattr(
            machine,
            "free_bytes",
            lambda: (1 << 20) if any(held.has_worker("float32") for held in crews) else (8 << 30),
        )
        assert machine.free_bytes() == 1 << 20
        checker.check_large(WIDE)
        assert [result.status for result in checker.checked.results] == ["passed", "passed"]


@pytest.mark.rotating
def test_tier_final_runs_the_large_case_where_memory_allows(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BUDGETS, "final", BUDGETS["quick"])
    monkeypatch.setattr("robust_kbench.search.EFFORTS", {"final": Effort(5, 10.0)})
    monkeypatch.setattr("robust_kbench.evaluate._Run._time", lambda *_: None)
    monkeypatch.setattr("robust_kbench.evaluate.large_case", lambda *_: WIDE)
    for free, status in ((1 << 20, "not_checked"), (8 << 30, "passed")):
        monkeypatch.setattr(machine, "free_bytes", lambda free=free: free)
        record = evaluator.evaluate(submit(python(RIGHT)), tier="final")
        assert (record.status, record.cases[-1].axes, record.cases[-1].status) == ("passed", WIDE.axes, status)
        assert record.search is not None
        assert 0 < record.search.examples <= 5

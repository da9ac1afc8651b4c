"""Cases whose float64 reference would cost too much are judged by secret slices of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from specimens import make_observation

from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle import sampled
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge, Verdict
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case

TASK = load_task("norm/rmsnorm")
CASE = Case(axes={"rows": 500, "cols": 64}, dtype="float32", seed=5)


@pytest.fixture
def widest(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every case is costly; the numbers of rows of which a float64 reference was made."""
    monkeypatch.setattr(sampled, "COSTLY_FLOPS", 4 * 64 * 100)
    rows: list[int] = []
    exact = Reference.exact

    def spy(self: Reference, inputs: Inputs) -> dict[str, torch.Tensor]:
        rows.append(len(inputs.tensors["x"]))
        return exact(self, inputs)

    monkeypatch.setattr(Reference, "exact", spy)
    return rows


def _judged(change: Callable[[torch.Tensor], object]) -> tuple[Judge, Inputs, Verdict]:
    inputs = make_inputs(TASK.spec, CASE)
    reference = Reference(TASK)
    answer = reference.native(inputs)["y"]
    change(answer)
    judge = Judge(TASK.spec, reference)
    return judge, inputs, judge.verdict(make_observation(case=CASE, outputs={"y": answer}), inputs)


def test_a_right_answer_passes_without_a_reference_of_the_whole(widest: list[int]) -> None:
    _, _, verdict = _judged(lambda answer: None)
    assert verdict.result.status == "passed", verdict.result.reason
    assert widest
    assert max(widest) <= 64


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda answer: answer[317].zero_(), id="one row"),
        pytest.param(lambda answer: answer[3, 5].add_(0.1), id="one element"),
        pytest.param(lambda answer: answer.mul_(1 + 1e-4), id="everything"),
        pytest.param(lambda answer: answer[:, -1].mul_(1.01), id="the last column"),
    ],
)
def test_a_wrong_answer_is_refused_and_explained(change: Callable[[torch.Tensor], object], widest: list[int]) -> None:
    _, _, verdict = _judged(change)
    assert verdict.result.status == "incorrect"
    assert verdict.result.reason.startswith("y")


def test_what_was_judged_so_bounds_later_answers_too(widest: list[int]) -> None:
    judge, inputs, verdict = _judged(lambda answer: None)
    right = Reference(TASK).native(inputs)["y"]
    assert judge.short_cut(make_observation(case=CASE, outputs={"y": right}), inputs, verdict.limits) is None
    wrong = make_observation(case=CASE, outputs={"y": torch.zeros_like(right)})
    assert judge.short_cut(wrong, inputs, verdict.limits) is not None


def test_other_cases_are_judged_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robust_kbench.oracle.verdict.sample", None)
    assert _judged(lambda answer: None)[2].result.status == "passed"

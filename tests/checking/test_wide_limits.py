"""An answer that needed no excuse is judged without PyTorch's errors; what is held to it may still err as those."""

from __future__ import annotations

from typing import Any, cast
from unittest.mock import Mock

import torch
from specimens import load_made_task, make_case, make_observation

from robust_kbench.cases.values import Inputs
from robust_kbench.checking.attempt import Attempt
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.schema.observation import Observation
from robust_kbench.stopwatch import Stopwatch

SLOPPY = load_made_task("def reference(x, weight):\n    return (x + 24 - 24) * weight\n")
CASE = make_case(dtype="float16", axes={"rows": 16, "cols": 32})


class Calls:
    """The first answer is exact, the later ones are PyTorch's."""

    def __init__(self) -> None:
        self.count = 0

    def call(self, case: Any, inputs: Inputs, *_: Any) -> Observation:
        self.count += 1
        reference = Reference(SLOPPY)
        exact = {name: tensor.half() for name, tensor in reference.exact(inputs).items()}
        return make_observation(case=case, outputs=exact if self.count == 1 else dict(reference.native(inputs)))


def _attempt() -> Attempt:
    contestant: Any = Mock(instrument=None, execution="native", built={"float16": None})
    judge = Judge(SLOPPY.spec, Reference(SLOPPY))
    attempt = Attempt(SLOPPY.spec, contestant, cast(Any, Calls()), judge, Stopwatch(), CASE)
    attempt.run(searches_defects=False)
    assert attempt.is_right
    return attempt


def test_an_answer_that_differs_as_pytorch_errs_is_no_race() -> None:
    attempt = _attempt()
    attempt.repeat()
    repetition = attempt.seen[1].repetition
    assert repetition is not None
    assert repetition.differing > 0
    assert repetition.ratio < 1
    assert attempt.is_right


def test_a_relation_that_holds_within_pytorchs_errors_holds() -> None:
    attempt = _attempt()
    narrow = attempt._limits
    others = Inputs({name: tensor.clone() for name, tensor in attempt.inputs.tensors.items()})
    asked: list[Any] = []

    def violation(answers: list[dict[str, torch.Tensor]], limits: Any, **_: Any) -> str | None:
        asked.append(limits)
        worst = float((answers[0]["y"].double() - answers[1]["y"].double()).norm() / answers[0]["y"].double().norm())
        return "far" if worst > limits["y"][0] else None

    attempt.relate(cast(Any, Mock(calls=(attempt.inputs, others), violation=violation)))
    assert attempt.is_right
    assert asked[0] == narrow
    assert asked[1]["y"][0] > narrow["y"][0]

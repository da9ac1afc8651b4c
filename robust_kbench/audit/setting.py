"""Case with all data that variants are made from and held to. It is made once, when the first variant needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle.cancelled_sums import CancelledSums
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Expected, Judge
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import CaseResult
from robust_kbench.schema.task import shape_of

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Setting:
    """Case with its inputs and the standards that answers are held to."""

    task: LoadedTask
    reference: Reference
    case: Case
    inputs: Inputs

    @classmethod
    def of(cls, task: LoadedTask, reference: Reference, case: Case) -> Setting:
        """Make the inputs of `case` and the setting with them."""
        return cls(task, reference, case, make_inputs(task.spec, case))

    def beside(self, inputs: Inputs) -> Setting:
        """Make the setting of the same case with other inputs; return itself if they are its own."""
        return self if inputs is self.inputs else replace(self, inputs=inputs)

    @cached_property
    def expected(self) -> Expected:
        """Answers of the reference, and the standards that other answers are held to."""
        return Judge(self.task.spec, self.reference).expect(self.case, self.inputs)

    def shape_of(self, output: str) -> tuple[int, ...]:
        """Compute the shape of one output, which is known without its answer."""
        return shape_of(self.task.spec.outputs[output], self.case.axes)

    @property
    def exact(self) -> Tensors:
        """Answer of the reference in float64."""
        return self.expected.exact

    @property
    def native(self) -> Tensors:
        """PyTorch's answer, in the case's dtype."""
        return self.expected.native

    @cached_property
    def previous(self) -> Tensors:
        """PyTorch's answer to other values of the same sizes."""
        other = self.case.model_copy(update={"seed": self.case.seed ^ 1})
        return self.reference.native(make_inputs(self.task.spec, other))

    def judge(self, answer: Tensors) -> dict[str, Judgement]:
        """Hold every output of `answer` to the rule, without the second look of `verdict` at ulps."""
        found = self.expected.judge(answer)
        sums = CancelledSums(self.task.spec, self.reference, self.case, self.inputs)
        return found | sums.accepted(answer, self.exact, self.expected.standards, found)

    def verdict(self, answer: Tensors) -> CaseResult:
        """Judge `answer` like that of a kernel, which is refused only after a second look."""
        seen = Observation(self.case, "returned", outputs=dict(answer))
        return Judge(self.task.spec, self.reference).verdict(seen, self.inputs, with_digest=False).result

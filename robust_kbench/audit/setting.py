"""One case with all that variants are made from and held to, made once for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch

from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Expected, Judge
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Setting:
    """A case, its inputs, and what answers to it are held to."""

    task: LoadedTask
    reference: Reference
    case: Case
    inputs: Inputs
    expected: Expected

    @classmethod
    def of(cls, task: LoadedTask, reference: Reference, case: Case) -> Setting:
        """Make the inputs and the reference's answers."""
        inputs = make_inputs(task.spec, case)
        return cls(task, reference, case, inputs, Judge(task.spec, reference).expect(case, inputs))

    def beside(self, inputs: Inputs) -> Setting:
        """The same case with other inputs; itself, where they are its own."""
        if inputs is self.inputs:
            return self
        expected = Judge(self.task.spec, self.reference).expect(self.case, inputs)
        return Setting(self.task, self.reference, self.case, inputs, expected)

    @property
    def exact(self) -> Tensors:
        """The reference's answer in float64."""
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
        """Hold every output of `answer` to the rule."""
        return self.expected.judge(answer)

"""Second look at few elements whose terms cancel: the remainder is off by roundings of the terms.

The three-metric rule measures an error against results: an element's against its row, a row's against the tensor. Where
a window holds two large values of opposite sign, a sum is far smaller than its terms, and so may all of its row be, if
that is a column wide. Its roundings are of the size of its terms, which no result tells.

So before an answer is refused, the reference says how large the terms of the worst elements are: T, by how much an
element changes per relative change of an input in which it is linear, each number up or down. It may be off by

    4 u |r| + sqrt(K) u_sum T

with u, K and u_sum as in the rule: a sum of K terms in any order, with fewer roundings than its probabilistic bound has
(Higham and Mary 2019). The rest of the answer must keep the rule by itself.

Only inputs count in which the task is homogeneous of degree one. In a product of 8,192 numbers each of them changes the
whole result: T would excuse 4 % of it, and a missing factor was accepted. The factors of a recurrence do the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from robust_kbench.cases.contract import rounding
from robust_kbench.cases.values import Inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle.agreement import reduction_of
from robust_kbench.oracle.judgement import Judgement, Standard
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.sampled import flops, is_costly
from robust_kbench.oracle.slices import inputs_at, output_dimension
from robust_kbench.oracle.surroundings import condition, evaluations
from robust_kbench.oracle.three_metrics import UNIT_ROUNDOFF, ThreeMetrics
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Task

Tensors = Mapping[str, torch.Tensor]

MOST_ELEMENTS = 16
"""Most elements that may cancel. If more, or more than a quarter, are wrong, cancelling terms are not the reason."""
_WIDE = (torch.float32, torch.float64)
_MOST_ELEMENTS, _MOST_FLOPS = 1 << 21, 1 << 31  # of all evaluations together, as some references are quadratic
_FARTHEST = 64.0  # limits; what is farther off, as most that is wrong, is not worth asking the reference for
_ROW_FLOOR = 0.25  # as in the rule: of the size of all results, below which a row has no scale of its own


@dataclass(frozen=True)
class CancelledSums:
    """Second look at the answers to one case, with the reference to ask."""

    task: Task
    reference: Reference
    case: Case
    inputs: Inputs

    def accepted(
        self, answers: Tensors, exact: Tensors, standards: Mapping[str, Standard], judgements: Mapping[str, Judgement]
    ) -> dict[str, Judgement]:
        """Judge refused outputs again; return judgements of the ones that are right but for few cancelling elements."""
        found: dict[str, Judgement] = {}
        if not self._groups or is_costly(self.task, self.case):  # what is called exact there is PyTorch's
            return found
        for name, judgement in judgements.items():
            if not (judgement.is_accepted or judgement.nonfinite) and judgement.ratio <= _FARTHEST:
                again = self._judge(name, answers[name], exact[name], standards[name])
                if again is not None and again.is_accepted:
                    found[name] = again
        return found

    def _judge(self, name: str, answer: torch.Tensor, exact: torch.Tensor, standard: Standard) -> Judgement | None:
        """Judge one output without few elements that cancel; None where these do not explain it.

        Only outputs of float32 and wider are judged: in halves the rounding of the result is more than that of any sum.
        """
        # Probes ask for exact sums, or more.
        is_of_sizes = isinstance(standard, ThreeMetrics) and self.case.probe is None
        if not is_of_sizes or answer.dtype not in _WIDE or (places := _worst(answer, exact)) is None:
            return None
        here = tuple(places.T)
        if not standard.judge(_with_exact(answer, exact, here)).is_accepted:
            return None  # before the reference is asked, which it is many times over
        if (terms := self._terms(name, places)) is None:
            return None
        error = (answer[here].double() - exact[here].double()).abs()
        adding = math.sqrt(reduction_of(self.task, self.task.outputs[name], self.case, self.inputs))
        adding *= rounding(self.task.precision, self.case.dtype).sum
        is_explained = error <= 4 * UNIT_ROUNDOFF[answer.dtype] * exact[here].double().abs() + adding * terms
        return standard.judge(_with_exact(answer, exact, tuple(places[is_explained].T)))

    def _terms(self, name: str, places: torch.Tensor) -> torch.Tensor | None:
        """Compute T of the elements at `places`, from slices of the independent axis; None if it takes too long."""
        try:
            dimension = output_dimension(self.task, name)
            chosen, at = torch.unique(places[:, dimension], return_inverse=True)
            part = inputs_at(self.task, self.inputs, lambda tensor, dim: tensor.index_select(dim, chosen))
            places = places.clone()
            places[:, dimension] = at
        except SpecError:  # no axis is independent
            part = self.inputs
        if not self._is_affordable(part):
            return None
        exact, here = self.reference.exact(part), tuple(places.T)
        found = [condition(self.reference, part, exact, names)[name][here] for names in self._groups]
        return torch.stack(found).amin(0)

    @property
    def _groups(self) -> list[tuple[str, ...]]:
        """Groups of inputs in which the op is linear together. The inputs of any group are terms enough."""
        groups = [prop.inputs for prop in self.task.properties if prop.kind == "homogeneous" and prop.degree == 1]
        # A scalar has no terms.
        return [names for names in groups if all(name in self.inputs.tensors for name in names)]

    def _is_affordable(self, part: Inputs) -> bool:
        """Tell if the reference can be evaluated so often at slices of the case."""
        sizes = [sum(tensor.numel() for tensor in values.tensors.values()) for values in (part, self.inputs)]
        count = sum(evaluations(part, names) for names in self._groups)
        work = count * flops(self.task, self.case) * sizes[0] / max(1, sizes[1])
        return count * sizes[0] <= _MOST_ELEMENTS and work <= _MOST_FLOPS


def _worst(answer: torch.Tensor, exact: torch.Tensor) -> torch.Tensor | None:
    """Find the places of the elements that are most off for their row: [at most 16, dimensions].

    None among fewer than four elements, or where an error is not finite.
    """
    if not (count := min(MOST_ELEMENTS, exact.numel() // 4)):
        return None
    due = exact.double()
    error = (answer.double() - due).abs()
    if not bool(error.isfinite().all()):
        return None
    rows = due.square().mean(-1, keepdim=True)
    scale = rows.sqrt().clamp(min=_ROW_FLOOR * float(rows.mean().sqrt())).clamp(min=torch.finfo(torch.float64).tiny)
    is_worst = torch.zeros(exact.numel(), dtype=torch.bool)
    is_worst[(error / scale).reshape(-1).topk(count).indices] = True
    return is_worst.view(exact.shape).nonzero()


def _with_exact(answer: torch.Tensor, exact: torch.Tensor, here: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Copy `answer` with the right results in some places."""
    rest = answer.clone()
    rest[here] = exact[here].to(answer.dtype)
    return rest

"""A second look at few elements that are beyond a limit in ulps: PyTorch may be off by as much just there.

A limit holds for all results of about one size. But the largest error among millions of products such as
gelu(gate) * up depends on a single one, in which a small 1 + erf meets a large factor; in one draw PyTorch rounds it by
luck to the right number, in the next it does not. So before an answer is refused for a few elements, PyTorch is asked
for these very elements, with inputs that are a little different each time, dense and transposed: a library may serve
dense ones, while torch.compile has the code that PyTorch takes for others.

No task that is judged in ulps has a jump: next to one, PyTorch's own error would excuse anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from robust_kbench.cases.memory_layout import laid_out
from robust_kbench.cases.values import Inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.slices import inputs_at, output_dimension
from robust_kbench.oracle.surroundings import scattered
from robust_kbench.oracle.ulps import unit_at
from robust_kbench.schema.task import Task

MOST_ELEMENTS = 16
"""An answer with more wrong elements is not one of bad luck."""
_COPIES = 32
_SLACK = 3.0  # honest variants of activation/geglu came to 2.03 times PyTorch's worst error in the copies


@dataclass(frozen=True)
class SecondLook:
    """The reference, at the slices of the independent axis in which the wrong elements lie."""

    task: Task
    reference: Reference

    def judge(self, name: str, inputs: Inputs, answer: torch.Tensor, wrong: torch.Tensor) -> Judgement | None:
        """The judgement of the worst of few `wrong` elements of output `name`, in ulps; None where there are too many.

        An element may be off by three times what PyTorch is off by there, at worst, among copies of the inputs. Where
        the exact result of a copy is larger than the element's own, its error counts for less, in proportion.
        """
        places = wrong.nonzero()
        if not 0 < len(places) <= MOST_ELEMENTS:
            return None
        try:
            dimension = output_dimension(self.task, name)
            chosen, at = torch.unique(places[:, dimension], return_inverse=True)
            twice = torch.cat([chosen, chosen])  # a single slice is dense wherever it lies
            part = inputs_at(self.task, inputs, lambda tensor, dim: tensor.index_select(dim, twice))
        except SpecError:  # no axis is independent
            return None
        found = answer[tuple(places.T)].double()
        places[:, dimension] = at
        here = tuple(places.T)
        exact = self.reference.exact(part)[name][here]
        worst = self._worst_errors(name, part, here, exact)
        error, limit = (found - exact).abs(), _SLACK * worst
        number = int((error / limit).nan_to_num(torch.inf).argmax())
        if not float(limit[number]):
            return None
        unit = unit_at(exact[number], answer.dtype)
        return Judgement((float(error[number]) / unit,), (float(limit[number]) / unit,))

    def _worst_errors(
        self, name: str, part: Inputs, here: tuple[torch.Tensor, ...], exact: torch.Tensor
    ) -> torch.Tensor:
        worst = torch.zeros_like(exact)
        for number in range(_COPIES):
            nearby = scattered(part, torch.Generator().manual_seed(number))
            due = self.reference.exact(nearby)[name][here]
            share = (exact.abs() / due.abs()).clamp(max=1.0)
            for arranged in (nearby, laid_out(self.task, "transposed", nearby)):
                error = (self.reference.native(arranged)[name][here].double() - due).abs()
                worst = torch.maximum(worst, (error * share).nan_to_num(0.0, 0.0, 0.0))
        return worst

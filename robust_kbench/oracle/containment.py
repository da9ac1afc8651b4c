"""Bounds of the elements that a NaN or an infinity among the inputs may spoil.

An infinity often cancels, in the reference as in a kernel, but not in the same order: 1 / inf is a zero, inf / inf is
not, and the rectifier of either is a number. An element that a NaN in the place of every infinity would reach may
therefore be right or not finite; one that it would not reach must be right.

PyTorch itself does not always keep to that: with bfloat16 on processors with AMX its matrix products read a row of odd
length to the end of a tile, and multiply the values there, the beginning of the next row, by zeros. A NaN then spoils
two rows. Where PyTorch does so in a case, that case does not ask more of others. The same holds where its own operator
has a number though NaN is due: a softmax of nothing but -inf is zero in scaled_dot_product_attention. The libraries of
a device are no excuse either way.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.judgement import Judgement, Standard
from robust_kbench.oracle.reference import Reference


class Contained:
    """Standard that excuses elements which are `reached` and due to be finite, if they are not.

    It also excuses finite elements among the ones that are `spared`.
    """

    def __init__(
        self, standard: Standard, exact: torch.Tensor, reached: torch.Tensor, spared: torch.Tensor | None = None
    ) -> None:
        self._standard = standard
        self._exact, self._reached, self._spared = exact, reached, spared

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Judge all elements that are not excused."""
        return self._standard.judge(self._without_excused(answer))

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark the elements that are wrong by the standard and not excused."""
        return self._standard.is_wrong(self._without_excused(answer))

    def _without_excused(self, answer: torch.Tensor) -> torch.Tensor:
        due = self._exact.to(answer.dtype)
        excused = self._reached & due.isfinite() & ~answer.isfinite()
        if self._spared is not None:
            excused |= self._spared & answer.isfinite()
        return torch.where(excused, due, answer)


def reached(
    reference: Reference, inputs: Inputs, native: Mapping[str, torch.Tensor], *, is_excused: bool = True
) -> Mapping[str, torch.Tensor]:
    """Find for every output the elements where a NaN in the place of each infinity of the inputs arrives.

    `native` are PyTorch's answers: where one of them is NaN beyond that, and `is_excused`, an output counts as reached
    everywhere. A device's libraries spread a NaN further than they need, which is no excuse.
    """
    values = {
        name: value.masked_fill(value.isinf(), torch.nan)
        if isinstance(value, torch.Tensor) and value.dtype.is_floating_point
        else value
        for name, value in inputs.values.items()
    }
    found = {name: tensor.isnan() for name, tensor in reference.exact(Inputs(values)).items()}
    if not is_excused:
        return found
    return {name: there | (native[name].isnan() & ~there).any() for name, there in found.items()}


def spared(reference: Reference, inputs: Inputs, exact: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
    """Find for every output where PyTorch's own operator has a number though NaN is due. Empty where there is none."""
    if not any(tensor.isnan().any() for tensor in exact.values()):
        return {}
    answers = reference.of_operator(inputs) or {}
    return {name: exact[name].isnan() & answer.isfinite() for name, answer in answers.items()}

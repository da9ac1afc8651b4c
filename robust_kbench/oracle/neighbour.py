"""Hold an answer to one that is nearly right where float64 does not fit: the rule's three errors, in little memory."""

from __future__ import annotations

import math

import torch

from robust_kbench.oracle.judgement import Judgement
from robust_kbench.oracle.three_metrics import Triple

_BLOCK_ELEMENTS = 1 << 20
_ROW_FLOOR = 0.25  # the rule's
_HALF_QUANTUM = 2.0**-24
_TINY = 1e-300
_NAMES = ("whole tensor", "worst row", "worst element")


class Neighbour:
    """Holds answers of `dtype` to `near`, which may be of a wider dtype. `limits` must allow for the errors of `near`.

    Where `near` is not finite, or half of the largest number of `dtype` and more, nothing is asked.
    """

    def __init__(self, near: torch.Tensor, limits: Triple, dtype: torch.dtype) -> None:
        self._rows = _as_rows(near)
        self._limits, self._largest = limits, torch.finfo(dtype).max / 2
        squares = sum(float(self._target(rows)[0].square().sum()) for rows in self._blocks())
        self._overall = math.sqrt(squares / max(1, near.numel()))

    def judge(self, answer: torch.Tensor) -> Judgement:
        """The three errors of `answer`."""
        values, squares, row, element, nonfinite = _as_rows(answer), 0.0, 0.0, 0.0, 0
        for rows in self._blocks():
            error, target, scale = self._errors(values, rows)
            nonfinite += int((~error.isfinite()).sum())
            squares += float(error.square().sum())
            row = max(row, float((error.square().mean(1).sqrt() / scale[:, 0]).max()))
            element = max(element, float((error / (target.abs() + scale)).max()))
        whole = math.sqrt(squares / max(1, answer.numel())) / (self._overall + _TINY)
        errors = (whole, row, element)
        return Judgement(errors, self._limits, nonfinite, self._demand(errors, nonfinite))

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Elementwise: beyond the element limit."""
        values, wrong = _as_rows(answer), torch.zeros(self._rows.shape, dtype=torch.bool)
        for rows in self._blocks():
            error, target, scale = self._errors(values, rows)
            wrong[rows] = ~(error <= self._limits[2] * (target.abs() + scale))
        return wrong.reshape(answer.shape)

    def _blocks(self) -> list[slice]:
        count, length = self._rows.shape
        step = max(1, _BLOCK_ELEMENTS // max(1, length))
        return [slice(start, start + step) for start in range(0, count, step)] if length else []

    def _target(self, rows: slice) -> tuple[torch.Tensor, torch.Tensor]:
        """The values, zero where they say nothing, and where that is."""
        target = self._rows[rows].double()
        silent = ~(target.abs() <= self._largest)
        return target.masked_fill(silent, 0.0), silent

    def _errors(self, values: torch.Tensor, rows: slice) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        target, silent = self._target(rows)
        error = (values[rows].double() - target).abs_().masked_fill_(silent, 0.0)
        if values.dtype == torch.float16:
            error.sub_(_HALF_QUANTUM).clamp_(min=0.0)
        scale = target.square().mean(1, keepdim=True).sqrt_().clamp_(min=_ROW_FLOOR * self._overall + _TINY)
        return error, target, scale

    def _demand(self, errors: Triple, nonfinite: int) -> str:
        if nonfinite:
            return f"{nonfinite:,} values are not finite, and PyTorch's are"
        named = zip(_NAMES, errors, self._limits, strict=True)
        broken = [f"{name} {error:.2g}, allowed {limit:.2g}" for name, error, limit in named if not error <= limit]
        return f"relative distance from PyTorch: {'; '.join(broken)}" if broken else ""


def _as_rows(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() == 0:
        return tensor.reshape(1, 1)
    return tensor.reshape(math.prod(tensor.shape[:-1]), tensor.shape[-1])

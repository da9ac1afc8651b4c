"""Wrong answers that can be made for every task from the right one, many of them near.

Every function returns one output of one case, or None where it does not apply. The other outputs are right. Random
changes are drawn from the case's own seed.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from robust_kbench.audit.lower_precision import lower
from robust_kbench.audit.setting import Setting
from robust_kbench.cases.draw import Draw

Change = Callable[[Setting, str], torch.Tensor | None]
NEAR = 6.0
"""Error of the near mutations among these, in units of the limit."""


def one_element_zero(setting: Setting, name: str) -> torch.Tensor | None:
    """One element is zero."""
    right = setting.native[name]
    nonzero = right.reshape(-1).nonzero()
    if not len(nonzero):
        return None
    return _with_zero(right, int(nonzero[_draw(setting, name).below(len(nonzero)), 0]))


def last_element_missing(setting: Setting, name: str) -> torch.Tensor | None:
    """The last element is zero."""
    right = setting.native[name]
    return _with_zero(right, right.numel() - 1) if right.numel() > 1 else None


def last_column_missing(setting: Setting, name: str) -> torch.Tensor | None:
    """The last column is zero."""
    wrong = setting.native[name].clone()
    if wrong.dim() < 1 or wrong.shape[-1] < 2:
        return None
    wrong[..., -1] = 0
    return wrong


def last_slice_missing(setting: Setting, name: str) -> torch.Tensor | None:
    """The last slice along the first axis is zero."""
    wrong = setting.native[name].clone()
    if wrong.dim() < 2 or wrong.shape[0] < 2:
        return None
    wrong[-1] = 0
    return wrong


def second_half_missing(setting: Setting, name: str) -> torch.Tensor | None:
    """The second half of all elements is zero."""
    wrong = setting.native[name].contiguous().clone()
    if wrong.numel() < 2:
        return None
    wrong.view(-1)[wrong.numel() // 2 :] = 0
    return wrong


def off_by_one_column(setting: Setting, name: str) -> torch.Tensor | None:
    """Every element stands one column too far to the right."""
    right = setting.native[name]
    return right.roll(1, -1) if right.dim() and right.shape[-1] > 1 else None


def neighbours_swapped(setting: Setting, name: str) -> torch.Tensor | None:
    """Two neighbours in the last axis are swapped."""
    wrong = setting.native[name].contiguous().clone()
    if not wrong.numel() or wrong.dim() < 1 or wrong.shape[-1] < 2:
        return None
    rows = wrong.view(-1, wrong.shape[-1])
    draw = _draw(setting, name)
    row, column = draw.below(len(rows)), draw.below(rows.shape[1] - 1)
    rows[row, column : column + 2] = rows[row, column : column + 2].flip(0)
    return wrong


def transposed(setting: Setting, name: str) -> torch.Tensor | None:
    """The last two axes are swapped, in case they have one size."""
    shape = setting.shape_of(name)
    return setting.native[name].mT if len(shape) > 1 and shape[-1] == shape[-2] > 1 else None


def scaled(setting: Setting, name: str) -> torch.Tensor | None:
    """Everything is too large, by six limits."""
    return _off(setting, name, setting.exact[name].double())


def one_element_off(setting: Setting, name: str) -> torch.Tensor | None:
    """One element is wrong by six limits."""
    right = setting.exact[name]
    if not right.numel():
        return None
    direction = torch.zeros(right.numel(), dtype=torch.float64)
    index = _draw(setting, name).below(right.numel())
    direction[index] = _size(right)
    return _off(setting, name, direction.reshape(right.shape))


def one_row_off(setting: Setting, name: str) -> torch.Tensor | None:
    """One row is too large, by six limits."""
    right = setting.exact[name]
    if right.dim() < 2 or not right.numel():
        return None
    rows = right.double().reshape(-1, right.shape[-1])
    direction = torch.zeros_like(rows)
    row = _draw(setting, name).below(len(rows))
    direction[row] = rows[row]
    return _off(setting, name, direction.reshape(right.shape))


def noise(setting: Setting, name: str) -> torch.Tensor | None:
    """Random noise of six limits on everything."""
    right = setting.exact[name].double()
    generator = torch.Generator().manual_seed(_draw(setting, name).bits())
    return _off(setting, name, torch.randn(right.shape, generator=generator, dtype=torch.float64) * right.abs())


def lower_output(setting: Setting, name: str) -> torch.Tensor | None:
    """The output went through the next lower precision."""
    right = setting.native[name]
    return lower(right, setting.task.spec.precision) if right.is_floating_point() else None


MUTATIONS: tuple[Change, ...] = (
    one_element_zero, last_element_missing, last_column_missing, last_slice_missing, second_half_missing,
    off_by_one_column, neighbours_swapped, transposed, lower_output, scaled, one_element_off, one_row_off, noise,
)  # fmt: skip


def _with_zero(right: torch.Tensor, index: int) -> torch.Tensor:
    wrong = right.contiguous().clone()
    wrong.view(-1)[index] = 0
    return wrong


def _draw(setting: Setting, name: str) -> Draw:
    return Draw(setting.case.seed, f"mutation {name}")


def _size(right: torch.Tensor) -> float:
    return float(right.double().square().mean().sqrt()) or 1.0


def _off(setting: Setting, name: str, direction: torch.Tensor) -> torch.Tensor | None:
    """Move PyTorch's answer along `direction` until its error is about `NEAR` limits; None where it cannot be moved."""
    right = setting.native[name]
    if not right.is_floating_point() or not bool(direction.any()):
        return None
    wide, step = right.double(), 2.0 * torch.finfo(right.dtype).eps
    for _ in range(3):
        answer = (wide + step * direction).to(right.dtype)
        ratio = setting.judge({**setting.native, name: answer})[name].ratio
        if not 0.0 < ratio < float("inf"):
            return None
        if 0.8 * NEAR < ratio < 1.25 * NEAR:
            return answer
        step *= NEAR / ratio
    return answer

"""Answers of a submission that computes nothing: each must fail on every task.

Every function returns one output of one case, or None where it does not apply. The other outputs are right.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from robust_kbench.audit.setting import Setting

Change = Callable[[Setting, str], torch.Tensor | None]


def zeros(setting: Setting, name: str) -> torch.Tensor:
    """Zeros."""
    return torch.zeros_like(setting.native[name])


def ones(setting: Setting, name: str) -> torch.Tensor:
    """Ones."""
    return torch.ones_like(setting.native[name])


def mean(setting: Setting, name: str) -> torch.Tensor | None:
    """The mean of the right answer, everywhere."""
    right = setting.native[name]
    if right.numel() < 2:
        return None
    return torch.full_like(right, setting.exact[name].double().mean().item())


def previous(setting: Setting, name: str) -> torch.Tensor | None:
    """The right answer to the previous call, whose values were others."""
    return setting.previous[name]


def first_slice(setting: Setting, name: str) -> torch.Tensor | None:
    """The first slice along the first axis, repeated."""
    right = setting.native[name]
    return right[:1].expand_as(right).contiguous() if right.dim() and right.shape[0] > 1 else None


def first_column(setting: Setting, name: str) -> torch.Tensor | None:
    """The first column, repeated."""
    right = setting.native[name]
    return right[..., :1].expand_as(right).contiguous() if right.dim() > 1 and right.shape[-1] > 1 else None


def reversed_slices(setting: Setting, name: str) -> torch.Tensor | None:
    """The slices along the first axis in reversed order."""
    right = setting.native[name]
    return right.flip(0) if right.dim() and right.shape[0] > 1 else None


NON_ANSWERS: tuple[Change, ...] = (zeros, ones, mean, previous, first_slice, first_column, reversed_slices)


class Copy:
    """Copy of one input, cut or repeated to the output's shape as a careless kernel would."""

    def __init__(self, source: str) -> None:
        self._source = source

    def __call__(self, setting: Setting, name: str) -> torch.Tensor | None:
        """Repeat or cut the values of the input in row-major order; None if the input or the output is empty."""
        flat = setting.inputs.tensors[self._source].reshape(-1)
        right = setting.native[name]
        if not flat.numel() or not right.numel():
            return None
        repeated = flat.repeat(-(-right.numel() // flat.numel()))[: right.numel()]
        return repeated.reshape(right.shape).to(right.dtype)

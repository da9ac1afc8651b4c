"""Distance of a kernel's outputs from the reference, and from the outputs of another device."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import torch
from description import Output
from torch import Tensor

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(tensor: Tensor) -> Tensor:
    """Return the elements as integers of the same size."""
    return tensor.contiguous().view(_BITS[tensor.element_size()])


def digest(tensors: Sequence[Tensor]) -> str:
    """Compute a digest that is equal for tensors with equal bits."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(bits(tensor).flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


def same(left: Tensor, right: Tensor) -> Tensor:
    """Mark the elements whose bits agree; any NaN is as good as any other."""
    equal = bits(left) == bits(right)
    return equal | (left.isnan() & right.isnan()) if left.is_floating_point() else equal


class Difference:
    """The largest absolute and relative differences from the reference, and the mistake, if there is any."""

    def __init__(self, actual: Tensor, expected: Tensor, output: Output) -> None:
        wanted = expected.to(output.dtype) if output.exact else expected
        gap = (actual.double() - wanted.double()).abs()
        gap[same(actual, wanted.to(output.dtype))] = 0.0
        gap[gap.isnan()] = torch.inf
        scale = wanted.double().abs()
        self.absolute = gap.max().item()
        self.relative = (gap / scale.clamp(min=torch.finfo(torch.float64).tiny)).max().item()
        wrong = self._exactly(actual, wanted) if output.exact else gap > _allowed(output, scale)
        self.complaint = _complaint(wrong, actual, wanted)

    @staticmethod
    def _exactly(actual: Tensor, wanted: Tensor) -> Tensor:
        return ~same(actual, wanted)


def _allowed(output: Output, scale: Tensor) -> Tensor:
    absolute = torch.tensor(output.absolute, dtype=torch.float64)
    return (absolute + output.relative * torch.where(scale.isfinite(), scale, 0.0)).expand_as(scale)


def _complaint(wrong: Tensor, actual: Tensor, wanted: Tensor) -> str:
    if not wrong.any():
        return ""
    places = wrong.nonzero()
    first = tuple(places[0].tolist())
    return (
        f"{len(places)} of {wrong.numel()} elements are off; at {first}: "
        f"{actual[first].item()!r} instead of {wanted[first].item()!r}"
    )


def ulps(left: Tensor, right: Tensor) -> float:
    """Return the largest distance in steps from one number of the type to the next; for integers, the difference."""
    if not left.is_floating_point():
        return float((left.long() - right.long()).abs().max())
    steps = (_ordered(left) - _ordered(right)).abs()
    steps[left.isnan() & right.isnan()] = 0
    one_is_nan = left.isnan() != right.isnan()
    return math.inf if one_is_nan.any() else float(steps.max())


def _ordered(tensor: Tensor) -> Tensor:
    """Return integers in the order of the numbers, both zeros being 0."""
    whole = bits(tensor).long()
    low = -(1 << (8 * tensor.element_size() - 1))
    return torch.where(whole < 0, low - whole, whole)

"""Shared memory in all its declarations, and barriers."""

from __future__ import annotations

import torch
from description import integers, kernel, result, uniform
from torch import Tensor

INT = torch.int32


@kernel("shared/reverse", inputs=[integers(-999, 999, 1037)], outputs=[result(1037, dtype=INT)], scalars=[1037])
def reverse(x: Tensor) -> Tensor:
    return torch.cat([piece.flip(0) for piece in torch.split(x, 100)])


@kernel("shared/instances_through_a_pointer", inputs=[integers(-999, 999, 14336)], outputs=[result(14336, dtype=INT)])
def instances_through_a_pointer(x: Tensor) -> Tensor:
    return torch.cat([x[:8192].flip(0), x[8192:].flip(0)])


@kernel("shared/tile_2d", inputs=[uniform(45, 70)], outputs=[result(70, 45)], scalars=[45, 70])
def tile_2d(x: Tensor) -> Tensor:
    return x.T


@kernel(
    "shared/several_declarators",
    inputs=[uniform(7, 131)],
    outputs=[result(7), result(7), result(7, dtype=INT)],
    scalars=[7, 131],
)
def several_declarators(x: Tensor) -> tuple[Tensor, ...]:
    return x.amin(1), x.amax(1), (x > 0).sum(1)


@kernel(
    "shared/dynamic",
    inputs=[uniform(9, 203)],
    outputs=[result(9, absolute=2e-5)],
    scalars=[9, 203],
    because="203 terms of at most 2, in any order",
)
def dynamic(x: Tensor) -> Tensor:
    return x.double().sum(1)


@kernel(
    "shared/dynamic_sub_arrays",
    inputs=[uniform(307), uniform(307, dtype=torch.float64)],
    outputs=[result(307, dtype=torch.float64)],
    scalars=[307],
)
def dynamic_sub_arrays(x: Tensor, base: Tensor) -> Tensor:
    return torch.cat([piece.flip(0) for piece in torch.split(x.clamp(min=0).double() + base, 72)])


@kernel(
    "shared/structs",
    inputs=[uniform(5, 101, 3, low=0.5)],
    outputs=[result(5, 2, relative=1e-5)],
    scalars=[5, 101],
    because="sums of 101 positive terms",
)
def structs(points: Tensor) -> Tensor:
    places, weights = points.double()[..., :2], points.double()[..., 2:]
    return (places * weights).sum(1) / weights.sum(1)


def _moving_sum(x: Tensor, radius: int) -> Tensor:
    padded = torch.nn.functional.pad(x, (radius, radius))
    return padded.unfold(0, 2 * radius + 1, 1).sum(1)


@kernel(
    "shared/template_size",
    inputs=[integers(-999, 999, 301), integers(-(1 << 50), 1 << 50, 301, dtype=torch.int64)],
    outputs=[result(301, dtype=INT), result(301, dtype=INT), result(301, dtype=torch.int64)],
    scalars=[301],
)
def template_size(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    return _moving_sum(a, 1), _moving_sum(a, 5), _moving_sum(b, 3)


@kernel("shared/volatile_warp", inputs=[integers(-999, 999, 900)], outputs=[result(4, dtype=INT)], scalars=[900])
def volatile_warp(x: Tensor) -> Tensor:
    return torch.stack([piece.sum() for piece in torch.split(x, 256)])


@kernel("shared/aligned_bytes", inputs=[uniform(6, 84)], outputs=[result(6, 84)], scalars=[6, 84, 13])
def aligned_bytes(x: Tensor) -> Tensor:
    return x.roll(-13, 1)


@kernel("shared/in_device_functions", inputs=[uniform(5, 117)], outputs=[result(5, 3)], scalars=[5, 117])
def in_device_functions(x: Tensor) -> Tensor:
    return torch.stack([x.amax(1), (-x).amax(1), x.abs().amax(1)], 1)


@kernel(
    "barriers/inclusive_scan",
    inputs=[integers(-99, 99, 6, 117)],
    outputs=[result(6, 117, dtype=INT)],
    scalars=[6, 117],
)
def inclusive_scan(x: Tensor) -> Tensor:
    return x.cumsum(1)


def _rows_with_extremes(generator: torch.Generator) -> Tensor:
    """Mixed rows, one of positive numbers alone and one without any."""
    rows = uniform(6, 71)(generator)
    rows[1] = rows[1].abs() + 0.5
    rows[4] = -rows[4].abs()
    return rows


@kernel("barriers/count_and_or", inputs=[_rows_with_extremes], outputs=[result(6, 3, dtype=INT)], scalars=[6, 71])
def count_and_or(x: Tensor) -> Tensor:
    positive = x > 0
    return torch.stack([positive.sum(1), positive.all(1), positive.any(1)], 1)


@kernel(
    "barriers/until_stable",
    inputs=[integers(-999, 999, 4, 61)],
    outputs=[result(4, 61, dtype=INT)],
    scalars=[4, 61],
)
def until_stable(x: Tensor) -> Tensor:
    return x.sort(1).values


@kernel("barriers/syncwarp_tree", inputs=[integers(-999, 999, 500)], outputs=[result(18, dtype=INT)], scalars=[500])
def syncwarp_tree(x: Tensor) -> Tensor:
    return torch.nn.functional.pad(x, (0, 76)).view(18, 32).sum(1)


@kernel("barriers/syncwarp_masks", inputs=[integers(-99, 99, 5, 32)], outputs=[result(5, 32, dtype=INT)], scalars=[5])
def syncwarp_masks(x: Tensor) -> Tensor:
    low, high = x[:, :16], x[:, 16:]
    return torch.cat([low + low.roll(-1, 1), high * high.flip(1)], 1).flip(1)


@kernel("barriers/after_exit", inputs=[integers(-99, 99, 5, 50)], outputs=[result(5, 50, dtype=INT)], scalars=[5, 50])
def after_exit(x: Tensor) -> Tensor:
    return x - x.roll(-1, 1)

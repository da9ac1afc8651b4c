"""Variants of the triplet loss: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import summed, tf32


def _squares(one: Tensor, other: Tensor) -> Tensor:
    return (one.float() - other.float()).square()


def _distance(one: Tensor, other: Tensor) -> Tensor:
    return _squares(one, other).sum(-1).sqrt()


def _loss(near: Tensor, far: Tensor, dtype: torch.dtype, margin: float = 1.0) -> Tensor:
    return (near - far + margin).clamp(min=0).mean().to(dtype)


def warp_for_a_row(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """32 float32 accumulators for each row and distance; the rows' losses by a tree."""
    near, far = (summed(_squares(anchor, other)).sqrt() for other in (positive, negative))
    return (summed((near - far + 1).clamp(min=0)) / len(anchor)).to(anchor.dtype)


def in_blocks(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Both sums of squares over blocks of columns; rows are added in blocks of 64, from the last to the first."""
    near = far = anchor.new_zeros(len(anchor), dtype=torch.float32)
    width = max(256, anchor.shape[-1] // 16)
    for a, p, n in zip(*(x.split(width, -1) for x in (anchor, positive, negative)), strict=True):
        near, far = near + _squares(a, p).sum(-1), far + _squares(a, n).sum(-1)
    losses = (near.sqrt() + 1 - far.sqrt()).clamp(min=0)
    parts = [part.sum() for part in reversed(losses.split(64))]
    return (torch.stack(parts).sum() / len(losses)).to(anchor.dtype)


def scaled_by_maximum(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Distances as BLAS takes a norm: divided by the largest magnitude before they are squared; 128 lanes."""
    distances = []
    for other in (positive, negative):
        difference = anchor.float() - other.float()
        largest = difference.abs().amax(-1).clamp(min=1e-30)
        distances.append(summed((difference / largest[:, None]).square(), lanes=128).sqrt() * largest)
    return _loss(*distances, anchor.dtype)


def by_the_difference_of_squares(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The difference of the squares over the sum of the distances, in float64 after the squares."""
    near, far = (_squares(anchor, other).double().sum(-1) for other in (positive, negative))
    total = near.sqrt() + far.sqrt()
    difference = torch.where(total > 0, (near - far) / total.clamp(min=1e-300), 0)
    return ((difference + 1).clamp(min=0).float().mean()).to(anchor.dtype)


def squared_distances(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The squares of the distances, as in the paper."""
    near, far = (_squares(anchor, other).sum(-1) for other in (positive, negative))
    return _loss(near, far, anchor.dtype)


def taxicab(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Sums of magnitudes instead of Euclidean distances."""
    near, far = ((anchor.float() - other.float()).abs().sum(-1) for other in (positive, negative))
    return _loss(near, far, anchor.dtype)


def root_mean_squares(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The mean of the squares instead of their sum."""
    near, far = (_squares(anchor, other).mean(-1).sqrt() for other in (positive, negative))
    return _loss(near, far, anchor.dtype)


def swapped(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Positive and negative are exchanged."""
    return _loss(_distance(anchor, negative), _distance(anchor, positive), anchor.dtype)


def from_the_positive(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The negative's distance is taken from the positive."""
    return _loss(_distance(anchor, positive), _distance(positive, negative), anchor.dtype)


def nearer_negative(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The negative's distance from the anchor or the positive, whichever is smaller: the option `swap`."""
    far = torch.minimum(_distance(anchor, negative), _distance(positive, negative))
    return _loss(_distance(anchor, positive), far, anchor.dtype)


def no_margin(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The margin is left out."""
    return _loss(_distance(anchor, positive), _distance(anchor, negative), anchor.dtype, 0.0)


def margin_outside(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The margin is added after the clipping."""
    return (1 + (_distance(anchor, positive) - _distance(anchor, negative)).clamp(min=0)).mean().to(anchor.dtype)


def not_clipped(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Gains count against losses."""
    return (_distance(anchor, positive) - _distance(anchor, negative) + 1).mean().to(anchor.dtype)


def clipped_after_the_mean(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The mean is clipped instead of each row."""
    return (_distance(anchor, positive) - _distance(anchor, negative) + 1).mean().clamp(min=0).to(anchor.dtype)


def sum_of_rows(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The sum over the rows."""
    loss = _loss(_distance(anchor, positive), _distance(anchor, negative), torch.float32)
    return (loss * len(anchor)).to(anchor.dtype)


def of_one_less(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Divided by the number of rows minus one."""
    loss = _loss(_distance(anchor, positive), _distance(anchor, negative), torch.float32)
    return (loss * (len(anchor) / (len(anchor) - 1))).to(anchor.dtype)


def mean_of_the_active(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The mean over those rows that lose anything."""
    losses = (_distance(anchor, positive) - _distance(anchor, negative) + 1).clamp(min=0)
    return (losses.sum() / (losses > 0).sum().clamp(min=1)).to(anchor.dtype)


def last_row_lost(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The last row is left out, but counted."""
    loss = _loss(_distance(anchor[:-1], positive[:-1]), _distance(anchor[:-1], negative[:-1]), torch.float32)
    return (loss * ((len(anchor) - 1) / len(anchor))).to(anchor.dtype)


def last_column_lost(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The last column is left out of the negative's distance."""
    return _loss(_distance(anchor, positive), _distance(anchor[:, :-1], negative[:, :-1]), anchor.dtype)


def tail_lost(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Columns behind the last whole vector of four are left out of the positive's distance."""
    whole = anchor.shape[-1] // 4 * 4
    return _loss(_distance(anchor[:, :whole], positive[:, :whole]), _distance(anchor, negative), anchor.dtype)


def half_accumulators(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The squares are summed in bfloat16, by eight lanes."""
    sums = (summed(_squares(anchor, other), torch.bfloat16, lanes=8).float() for other in (positive, negative))
    return _loss(*(total.sqrt() for total in sums), anchor.dtype)


def distances_in_bfloat16(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Distances are kept in bfloat16 before they are subtracted."""
    distances = (_distance(anchor, other).bfloat16().float() for other in (positive, negative))
    return _loss(*distances, anchor.dtype)


def tf32_differences(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """float32: the differences pass through a TF32 unit, as when their squares are a product of matrices."""
    near, far = (tf32(anchor - other).square().sum(-1).sqrt() for other in (positive, negative))
    return _loss(near, far, anchor.dtype)


def eps_in_the_difference(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """1e-2 is added to every difference, against the gradient of a root at zero."""
    return _loss(_distance(anchor.float() + 1e-2, positive), _distance(anchor.float() + 1e-2, negative), anchor.dtype)


def negative_of_the_next_row(anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Rows of the negative are one too far."""
    return _loss(_distance(anchor, positive), _distance(anchor, negative.roll(1, 0)), anchor.dtype)


tf32_differences.dtypes = eps_in_the_difference.dtypes = ("float32",)
half_accumulators.dtypes = distances_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (warp_for_a_row, in_blocks, scaled_by_maximum, by_the_difference_of_squares)
MUTANTS = (
    squared_distances, taxicab, root_mean_squares, swapped, from_the_positive, nearer_negative, no_margin,
    margin_outside, not_clipped, clipped_after_the_mean, sum_of_rows, of_one_less, mean_of_the_active, last_row_lost,
    last_column_lost, tail_lost, half_accumulators, distances_in_bfloat16, tf32_differences, eps_in_the_difference,
    negative_of_the_next_row,
)  # fmt: skip
_AVERAGED = "a row's roundings average out in its distances, and the rows' in their mean"
EXEMPT = {
    "lower_anchor": {"float16": _AVERAGED, "bfloat16": _AVERAGED},
    "lower_negative": {"float16": _AVERAGED},
}

"""Values on which the scores of an attention lie far apart: its softmax is close to one-hot, and overflows unshifted.

With usual values no score comes near 88, from where on an exponential is beyond float32, so that a kernel without the
maximum passes. Larger queries alone would not do: of nearly equal scores of that size the rounding decides. So every
query looks at one column of the keys, and there all keys of a sequence are zero but five, whose scores are about 23,
46, 69, 92 and 115. No larger ones: kernels that join parts of a row by the logarithms of their sums lose the more the
larger these are. In a third of the sequences the first key has a score of about -115, and all others -138: their
exponentials vanish in a kernel whose running maximum begins with zero. A block gets there by its weights: what
they make of a position's last feature is all that its keys are.
"""

from __future__ import annotations

import math

import torch

_QUERY = 32.0
_LEAST_GAP = 23.0  # between one score and the next
_LEVELS = (5.0, 4.0, 3.0, 2.0, 1.0)  # in units of that gap; short sequences have the first ones
_SUNK, _SUNK_SHARE = (-5.0, -6.0), 1 / 3  # the first key and all others; below -104 exponentials are zero in float32
_DIGITS = 5  # of such a unit, so that bfloat16 holds every level
_CODE_OF_ZERO = 128
_BLOCK_QUERY = 16.0
_BLOCK_LEVELS = (8.0, 4.0, 2.0)  # a layer norm of 32 features or more keeps them apart


def queries(shape: tuple[int, ...]) -> torch.Tensor:
    """Make vectors that are zero but for the last element, 2**5."""
    values = torch.zeros(shape)
    values[..., -1:] = _QUERY
    return values


def keys(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw normal keys [..., length, features] whose last feature is equal but at five positions, or at the first."""
    first, others = _SUNK
    levels = _leaders(shape[:-1], _LEVELS, generator)
    sunk = torch.full_like(levels, others)
    sunk[..., :1] = first
    is_sunk = torch.rand((*shape[:-2], 1), generator=generator) < _SUNK_SHARE
    return _keys(shape, torch.where(is_sunk, sunk, levels), generator)


def _keys(shape: tuple[int, ...], levels: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    values = torch.randn(shape, generator=generator)
    mantissa, exponent = math.frexp(_unit(shape[-1]))
    unit = math.ldexp(math.ceil(mantissa * 2**_DIGITS), exponent - _DIGITS)
    values[..., -1:] = unit * levels.unsqueeze(-1)
    return values


def keys_by_position(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw such keys [positions..., heads, features], all with five positions: not all queries see the first one."""
    *places, heads, features = shape
    flat = heads, math.prod(places), features
    return _keys(flat, _leaders(flat[:-1], _LEVELS, generator), generator).transpose(0, 1).reshape(shape)


def key_codes(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw the same as codes from 0 to 255, of which 128 is zero, for a scale of one."""
    values = torch.randint(0, 256, shape, generator=generator).float()
    levels = _leaders(shape[:-1], _LEVELS, generator).unsqueeze(-1)
    values[..., -1:] = _CODE_OF_ZERO + math.ceil(_unit(shape[-1])) * levels
    return values


def positions(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw normal features [..., length, features]: the last one is zero, but 2, 4 and 8 at three random positions.

    The others have a mean of zero, so that a layer norm leaves zeros what they are: scores of order ten among usual
    positions would show how a kernel in halves rounds them.
    """
    values = torch.randn(shape, generator=generator)
    values[..., :-1] -= values[..., :-1].mean(-1, keepdim=True)
    values[..., -1:] = _leaders(shape[:-1], _BLOCK_LEVELS, generator).unsqueeze(-1)
    return values


def projection(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Make the weight [3 * features, features] that projects onto queries, keys and values.

    Queries get nothing, each element of a key the last feature, and values half of what they usually do: no average
    makes their roundings small beside the rest of a block.
    """
    third = shape[0] // 3
    values = torch.randn(shape, generator=generator) / (2 * math.sqrt(shape[1]))
    values[: 2 * third] = 0.0
    values[third : 2 * third, -1] = 1.0
    return values


def projection_bias(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Make the bias [3 * features] beside it: queries are 16, keys are left as they are, values are moved a little."""
    third = shape[0] // 3
    values = torch.randn(shape, generator=generator) / 8
    values[:third] = _BLOCK_QUERY
    values[third : 2 * third] = 0.0
    return values


def _unit(width: int) -> float:
    """Compute what is the least gap once it is multiplied by a query and divided by the root of `width`."""
    return _LEAST_GAP * math.sqrt(width) / _QUERY


def _leaders(shape: tuple[int, ...], levels: tuple[float, ...], generator: torch.Generator) -> torch.Tensor:
    """Make zeros [..., length], with the `levels` at different random positions of each row, as many as there are."""
    found = torch.rand(shape, generator=generator).topk(min(len(levels), shape[-1]), -1).indices
    leading = torch.tensor(levels[: found.shape[-1]]).expand(found.shape)
    return torch.zeros(shape).scatter_(-1, found, leading)

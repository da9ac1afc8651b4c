"""Values on which the scores of an attention lie far apart: its softmax is close to one-hot, and overflows unshifted.

With usual values no score comes near 88, from where on an exponential is beyond float32, so that a kernel without the
maximum passes. Larger queries alone would not do: of nearly equal scores of that size the rounding decides. So every
query looks at one column of the keys, and there all keys of a sequence are zero but five, whose scores are about 23,
46, 69, 92 and 115. No larger ones: kernels that join parts of a row by the logarithms of their sums lose the more the
larger these are. A third of the sequences, or of the heads, is sunk: all scores are about -115 or -138, and their
exponentials vanish in a kernel whose running maximum begins with zero. A block gets there by its weights: what
they make of a position's last feature is all that its keys are. There the queries of a third of the positions have the
other sign, and so have all queries of the last heads: a maximum that serves several rows or heads is too high
for some of them.

A gradient cancels where one weight is nearly one. So its keys are level: scores are -115 before a random position of a
sequence and 115 from there on, or the other way round.
"""

from __future__ import annotations

import math

import torch

_QUERY = 32.0
_LEAST_GAP = 23.0  # between one score and the next
_LEVELS = (5.0, 4.0, 3.0, 2.0, 1.0)  # in units of that gap; short sequences have the first ones
_SUNK, _SUNK_SHARE = (-5.0, -6.0), 1 / 3  # the first key and all others; below -104 exponentials are zero in float32
_LEVEL_QUERY = 32.0
_DIGITS = 5  # of such a unit, so that bfloat16 holds every level
_CODE_OF_ZERO = 128
_BLOCK_QUERY = 16.0
_BLOCK_LEVELS = (8.0, 4.0, 2.0)  # a layer norm of 32 features or more keeps them apart
_BLOCK_SUNK = (-3.0, -12.0, -8.0)  # the lowest one is the largest score of a query of the other sign
_TURN, _TURNED_SHARE = 3.0, 1 / 3  # a query is multiplied by one less this; a layer norm must not bring it near one
_LAST_HEADS = 1 / 3  # so that a single head is left with a third of its scores


def queries(shape: tuple[int, ...]) -> torch.Tensor:
    """Make vectors that are zero but for the last element, 2**5."""
    values = torch.zeros(shape)
    values[..., -1:] = _QUERY
    return values


def keys(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw normal keys [..., length, features] whose last feature is equal but at five positions, or at the first."""
    return _keys(shape, _some_sunk(_leaders(shape[:-1], _LEVELS, generator), _SUNK, generator), generator)


def level_queries(shape: tuple[int, ...]) -> torch.Tensor:
    """Make vectors that are zero but for the last element, 2**10.

    What keys have in common drops out of the gradient of a query. It must not be larger than what is left.
    """
    return queries(shape) * _LEVEL_QUERY


def level_keys(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw normal keys [..., length, features] whose last feature has one sign up to a random place of a sequence."""
    *rows, length, _ = shape
    change = 1 + (torch.rand((*rows, 1), generator=generator) * (length - 1)).long()
    rises = torch.rand((*rows, 1), generator=generator) < 1 / 2
    is_high = (torch.arange(length) >= change) == rises
    return _keys(shape, torch.where(is_high, _LEVELS[0], _SUNK[0]) / _LEVEL_QUERY, generator)


def _keys(shape: tuple[int, ...], levels: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    values = torch.randn(shape, generator=generator)
    mantissa, exponent = math.frexp(_unit(shape[-1]))
    unit = math.ldexp(math.ceil(mantissa * 2**_DIGITS), exponent - _DIGITS)
    values[..., -1:] = unit * levels.unsqueeze(-1)
    return values


def keys_by_position(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw such keys [positions..., heads, features]. In a sunk head all are equal: not all queries see the first."""
    *places, heads, features = shape
    flat = heads, math.prod(places), features
    first, _ = _SUNK
    levels = _some_sunk(_leaders(flat[:-1], _LEVELS, generator), (first, first), generator)
    return _keys(flat, levels, generator).transpose(0, 1).reshape(shape)


def key_codes(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw keys [..., length, features] as codes from 0 to 255, of which 128 is zero, for a scale of one."""
    values = torch.randint(0, 256, shape, generator=generator).float()
    levels = _some_sunk(_leaders(shape[:-1], _LEVELS, generator), _SUNK, generator)
    values[..., -1:] = _CODE_OF_ZERO + math.ceil(_unit(shape[-1])) * levels.unsqueeze(-1)
    return values


def positions(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw normal features [..., length, features]: the last one is zero, but 2, 4 and 8 at three random positions.

    In a third of the sequences it is -3 at the first position, -12 at the second, which nearly all others see too, and
    -8 behind them. The last but one is 3 where the query is turned, and else zero. All but the last have a mean of
    zero, so that a layer norm leaves zeros what they are, and all but the last two the same norm, so that it leaves
    equal levels equal: among nearly equal scores a kernel's rounding would decide.
    """
    values = torch.randn(shape, generator=generator)
    values[..., -2] = _TURN * (torch.rand(shape[:-1], generator=generator) < _TURNED_SHARE)
    values[..., :-2] -= values[..., :-2].mean(-1, keepdim=True)
    values[..., :-2] *= math.sqrt(shape[-1] - 2) / values[..., :-2].norm(dim=-1, keepdim=True)
    values[..., :-2] -= values[..., -2:-1] / (shape[-1] - 2)
    levels = _some_sunk(_leaders(shape[:-1], _BLOCK_LEVELS, generator), _BLOCK_SUNK, generator)
    values[..., -1:] = levels.unsqueeze(-1)
    return values


def projection(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Make the weight [3 * features, features] that projects onto queries, keys and values.

    Queries get what turns them, each element of a key the last feature, and values half of what they usually do: no
    average makes their roundings small beside the rest of a block.
    """
    third = shape[0] // 3
    values = torch.randn(shape, generator=generator) / (2 * math.sqrt(shape[1]))
    values[: 2 * third] = 0.0
    values[:third, -2] = -_block_queries(third)
    values[third : 2 * third, -1] = 1.0
    return values


def projection_bias(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Make the bias [3 * features] beside it: queries are 16 or -16, keys are left, values are moved a little."""
    third = shape[0] // 3
    values = torch.randn(shape, generator=generator) / 8
    values[:third] = _block_queries(third)
    values[third : 2 * third] = 0.0
    return values


def _block_queries(features: int) -> torch.Tensor:
    """Make the queries of all heads, side by side: [features]."""
    is_last = torch.arange(features) >= features * (1 - _LAST_HEADS)
    return torch.where(is_last, -_BLOCK_QUERY, _BLOCK_QUERY)


def _unit(width: int) -> float:
    """Compute what is the least gap once it is multiplied by a query and divided by the root of `width`."""
    return _LEAST_GAP * math.sqrt(width) / _QUERY


def _some_sunk(levels: torch.Tensor, sunk: tuple[float, ...], generator: torch.Generator) -> torch.Tensor:
    """Lower a third of the rows of `levels` [..., length]: first positions to `sunk`, all behind them to its last."""
    low = torch.full_like(levels, sunk[-1])
    leading = torch.tensor(sunk[: levels.shape[-1]])
    low[..., : len(leading)] = leading
    is_sunk = torch.rand((*levels.shape[:-1], 1), generator=generator) < _SUNK_SHARE
    return torch.where(is_sunk, low, levels)


def _leaders(shape: tuple[int, ...], levels: tuple[float, ...], generator: torch.Generator) -> torch.Tensor:
    """Make zeros [..., length], with the `levels` at different random positions of each row, as many as there are."""
    found = torch.rand(shape, generator=generator).topk(min(len(levels), shape[-1]), -1).indices
    leading = torch.tensor(levels[: found.shape[-1]]).expand(found.shape)
    return torch.zeros(shape).scatter_(-1, found, leading)

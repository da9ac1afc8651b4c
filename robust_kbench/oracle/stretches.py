"""Stretches of a mask that repeat earlier ones, wherever they are.

Every stretch is given a number of 64 bits, and equal numbers are counted. A stretch is so long that any two of an
honest mask of 2**27 places are alike with a probability of 1e-11. Where each place is dropped with probability p, two
places agree with c = p^2 + (1 - p)^2, and all of two stretches of length L with c^L. Two that overlap have to agree in
chains of two places or more, which has a probability of c^(L / 2) at most.
"""

from __future__ import annotations

import math

import torch

_EXPONENT = 52.0  # the logarithm of 2**27 places, times 1e11, times at most 4096 distances of stretches that overlap
_LONGEST = 4096
_FACTOR = 0x5851F42D4C957F2D  # odd: the base of the polynomial that gives a stretch its number
_MIXERS = (0x3F58476D1CE4E5B9, 0x14D049BB133111EB)
_WORD = 1 << 64


def length_for(p: float) -> int | None:
    """Give the length of a stretch; None where almost all places are alike, and a mask says too little."""
    agreement = p**2 + (1 - p) ** 2
    length = math.ceil(2 * _EXPONENT / -math.log(agreement)) if agreement < 1 else _LONGEST + 1
    return length if length <= _LONGEST else None


def sketch(kept: torch.Tensor, is_visible: torch.Tensor, length: int, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Number stretches of which every place is visible, and tell where they begin, `most` of them or so.

    They are chosen by their numbers, so that of two equal stretches both are chosen or none.
    """
    count = len(kept) - length + 1
    if count <= 0:
        return torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64)
    powers = _powers(_FACTOR, len(kept))
    ahead = _sums(torch.where(kept, powers, 0))
    numbers = (ahead[length:] - ahead[:-length]) * _powers(pow(_FACTOR, -1, _WORD), count)
    for mixer in _MIXERS:
        numbers = (numbers ^ ((numbers >> 29) & 0x7FFFFFFFF)) * mixer
    numbers ^= (numbers >> 32) & 0xFFFFFFFF
    seen = _sums(is_visible.long())
    is_chosen = (seen[length:] - seen[:-length] == length) & _is_chosen(numbers, count, most)
    places = is_chosen.nonzero()[:, 0]
    return numbers[places], places


def thin(numbers: torch.Tensor, count: int, most: int) -> torch.Tensor:
    """Choose `most` or so of all `count` stretches in the same way, of which `numbers` have been chosen before."""
    return numbers[_is_chosen(numbers, count, most)]


def copies(numbers: torch.Tensor, places: torch.Tensor) -> tuple[float, int, int]:
    """Give the share of stretches that are equal to an earlier one, and where two equal ones begin."""
    ordered = numbers.sort(stable=True)
    again = (ordered.values[1:] == ordered.values[:-1]).nonzero()[:, 0]
    if not len(again):
        return 0.0, 0, 0
    one, other = (int(places[ordered.indices[again[0] + step]]) for step in (0, 1))
    return len(again) / len(numbers), one, other


def _is_chosen(numbers: torch.Tensor, count: int, most: int) -> torch.Tensor:
    """Choose by the lowest bits, so that fewer of `count` are a part of more."""
    bits = max(0, math.ceil(math.log2(count / most)))
    return (numbers & ((1 << bits) - 1)) == 0


def _powers(base: int, count: int) -> torch.Tensor:
    """Powers from the zeroth on, modulo 2**64."""
    factors = torch.full((count,), base - _WORD if base >= _WORD // 2 else base, dtype=torch.int64)
    factors[:1] = 1
    return factors.cumprod(0)


def _sums(values: torch.Tensor) -> torch.Tensor:
    """Sums of all values before each, and of all."""
    sums = torch.zeros(len(values) + 1, dtype=torch.int64)
    torch.cumsum(values, 0, out=sums[1:])
    return sums

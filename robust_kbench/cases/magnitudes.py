"""Values of all magnitudes that a dtype holds, for ops that compute a scale from them: a row or a block has one size.

With usual values no block is beyond 2**10 or below 2**-10, so that an exponent that is cut off or wraps around, an
epsilon beside the largest value, and what is done at the lowest exponent of all stay unseen.
"""

from __future__ import annotations

import math

import torch

_LARGEST = {"float32": 100, "bfloat16": 100, "float64": 100, "float16": 10}  # normal values times this power are finite
_SMALL = (24, 32)  # binary orders above the smallest normal number: a row's numbers that count are normal, too
_SMALL_FLOAT16 = (4, -2)  # the latter is subnormal; numbers like that of wider formats may be flushed to zero
_SPECIAL, _KINDS = 5, 8  # three of eight sizes are drawn from all that there are


def rows(shape: tuple[int, ...], dtype: str, generator: torch.Generator, stretch: int | None = None) -> torch.Tensor:
    """Draw normal values of which each row, or each `stretch` of one, is times a power of two of its own.

    In turn these are one, the largest, the smallest, two near the least normal number, one of which makes subnormal
    numbers in float16, and three random ones; which one is whose is random.
    """
    values = torch.randn(shape, generator=generator)
    if not values.numel():
        return values
    length = shape[-1] if stretch is None else stretch
    sizes = (*shape[:-1], -(-shape[-1] // length))
    exponents = _exponents(math.prod(sizes), dtype, generator).view(sizes)
    spread = exponents.repeat_interleave(length, -1)[..., : shape[-1]]
    return torch.ldexp(values.double(), spread)


def _exponents(count: int, dtype: str, generator: torch.Generator) -> torch.Tensor:
    largest, least = _LARGEST[dtype], round(math.log2(torch.finfo(getattr(torch, dtype)).smallest_normal))
    small = [least + above for above in (_SMALL_FLOAT16 if dtype == "float16" else _SMALL)]
    special = torch.tensor([0, largest, -largest, *small])
    kinds = (torch.arange(count) + torch.randint(0, _KINDS, (1,), generator=generator)) % _KINDS
    kinds = kinds[torch.randperm(count, generator=generator)]
    random = torch.randint(max(-largest, least), largest + 1, (count,), generator=generator)
    return torch.where(kinds < _SPECIAL, special[kinds.clamp(max=_SPECIAL - 1)], random)

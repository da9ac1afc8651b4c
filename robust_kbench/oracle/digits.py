"""Numbers with fewer significant binary digits than their dtype has, as narrower formats keep them."""

from __future__ import annotations

import torch


def rounded(values: torch.Tensor, digits: int) -> torch.Tensor:
    """The values rounded to nearest, ties to even, to so many digits, the leading one counted; the range is kept.

    NaN and infinities stay what they are.
    """
    fraction, exponent = torch.frexp(values.double())
    near = torch.ldexp(torch.round(torch.ldexp(fraction, torch.tensor(digits))), exponent - digits)
    return torch.where(values.isfinite(), near, values.double()).to(values.dtype)

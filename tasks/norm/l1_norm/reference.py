"""Division by the sum of magnitudes: y = x / max(sum of |x|, 1e-6) over each row (torch.nn.functional.normalize)."""

import torch

EPSILON = 1e-6


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]; rows of zeros stay zero.

    A row is first divided by its largest magnitude, or by epsilon where that is larger: so no sum passes the largest
    float16, and the sum is less than one only where epsilon counts. An infinity still makes zeros of the others.
    """
    largest = x.abs().amax(-1, keepdim=True).clamp(EPSILON, torch.finfo(x.dtype).max)
    scaled = x / largest
    return scaled / scaled.abs().sum(-1, keepdim=True).clamp(min=1)


def functional(x: torch.Tensor) -> torch.Tensor:
    """The same as it is usually written, with the sum in float32 at least."""
    wide = torch.promote_types(x.dtype, torch.float32)
    return (x / x.abs().sum(-1, keepdim=True, dtype=wide).clamp(min=EPSILON)).to(x.dtype)

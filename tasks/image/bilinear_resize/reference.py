"""Bilinear interpolation between pixel centres: row i of the result is at s = (i + 1/2) height / new_height - 1/2.

It is (1 - f) x[k] + f x[k + 1] with k = floor(s) and f = s - k; before the first row and behind the last one, those are
continued. Columns likewise (Press et al. 2007, section 3.6; torch.nn.Upsample with align_corners=False).
"""

import torch


def _places(size: int, new_size: int, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The pixels before and behind each new one, and how far it is from the first of them to the second.

    Places are in float32 at least, as half precision has too few digits for them.
    """
    dtype = torch.promote_types(like.dtype, torch.float32)
    place = (torch.arange(new_size, dtype=dtype, device=like.device) + 0.5) * (size / new_size) - 0.5
    before = place.floor()
    first, second = (index.long().clamp(0, size - 1) for index in (before, before + 1))
    return first, second, (place - before).to(like.dtype)


def reference(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """x: [batch, channels, height, width] -> y: [batch, channels, new_height, new_width]."""
    above, below, down = _places(x.shape[2], new_height, x)
    left, right, across = _places(x.shape[3], new_width, x)
    rows = torch.lerp(x[:, :, above], x[:, :, below], down.unsqueeze(1))
    return torch.lerp(rows[..., left], rows[..., right], across)


def functional(x: torch.Tensor, new_height: int, new_width: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.interpolate(x, (new_height, new_width), mode="bilinear", align_corners=False)

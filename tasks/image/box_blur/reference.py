"""Box filter: each pixel is the mean over the (2 radius + 1)^2 pixels around it (McDonnell 1981).

Beyond an edge its pixels are continued, as OpenCV's BORDER_REPLICATE does.
"""

import torch


def reference(x: torch.Tensor, radius: int) -> torch.Tensor:
    """x: [batch, channels, height, width] -> y: the shape of x; means along the width, then along the height."""
    row, column = (
        torch.arange(-radius, size + radius, device=x.device).clamp(0, size - 1) for size in (x.shape[2], x.shape[3])
    )
    rows = x[..., column].unfold(3, 2 * radius + 1, 1).mean(-1)
    return rows[:, :, row].unfold(2, 2 * radius + 1, 1).mean(-1)


def functional(x: torch.Tensor, radius: int) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    padded = torch.nn.functional.pad(x, (radius,) * 4, mode="replicate")
    return torch.nn.functional.avg_pool2d(padded, 2 * radius + 1, 1)

"""Instance normalisation: y = (x - mean) / sqrt(variance + 1e-5) * weight + bias over each channel of each image.

Source: Ulyanov, Vedaldi and Lempitsky 2016, arXiv:1607.08022, eq. 3; scale and offset as in torch.nn.InstanceNorm2d.
"""

import torch

EPSILON = 1e-5


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, channels, height, width], weight, bias: [channels] -> y: the shape of x; the variance is biased."""
    centred = x - x.mean((2, 3), keepdim=True)
    normed = centred * torch.rsqrt(centred.square().mean((2, 3), keepdim=True) + EPSILON)
    return normed * weight[:, None, None] + bias[:, None, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.instance_norm(x, weight=weight, bias=bias, eps=EPSILON)

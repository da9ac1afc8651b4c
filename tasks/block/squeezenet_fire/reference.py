"""Fire module of SqueezeNet: a squeezing layer of 1 x 1 filters, then 1 x 1 and 3 x 3 filters side by side.

s = max(x * squeeze, 0); y is max(s * weight1, 0) followed by max(s * weight3, 0) along the channels, where * is a
convolution with bias, for the 3 x 3 filters with a margin of one zero (Iandola et al. 2016, arXiv:1602.07360, fig. 1).
"""

import torch
from torch import Tensor


def _pointwise(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.relu(torch.einsum("bcij,oc->boij", x, weight[:, :, 0, 0]) + bias[:, None, None])


def reference(
    x: Tensor,
    squeeze_weight: Tensor,
    squeeze_bias: Tensor,
    weight1: Tensor,
    bias1: Tensor,
    weight3: Tensor,
    bias3: Tensor,
) -> Tensor:
    """x: [batch, channels, height, width], squeeze_weight: [squeezed, channels, 1, 1], squeeze_bias: [squeezed].

    weight1: [ones, squeezed, 1, 1], bias1: [ones], weight3: [threes, squeezed, 3, 3], bias3: [threes].
    Gives y: [batch, ones + threes, height, width].
    """
    squeezed = _pointwise(x, squeeze_weight, squeeze_bias)
    windows = torch.nn.functional.pad(squeezed, (1, 1, 1, 1)).unfold(2, 3, 1).unfold(3, 3, 1)
    wide = torch.relu(torch.einsum("bcijuv,ocuv->boij", windows, weight3) + bias3[:, None, None])
    return torch.cat((_pointwise(squeezed, weight1, bias1), wide), 1)


def functional(
    x: Tensor,
    squeeze_weight: Tensor,
    squeeze_bias: Tensor,
    weight1: Tensor,
    bias1: Tensor,
    weight3: Tensor,
    bias3: Tensor,
) -> Tensor:
    """The same through PyTorch's own operators."""
    conv2d = torch.nn.functional.conv2d
    squeezed = torch.relu(conv2d(x, squeeze_weight, squeeze_bias))
    parts = conv2d(squeezed, weight1, bias1), conv2d(squeezed, weight3, bias3, padding=1)
    return torch.relu(torch.cat(parts, 1))

"""Group normalisation: y = (x - mean) / sqrt(variance + 1e-5) * weight + bias over each group of channels.

Source: Wu and He 2018, arXiv:1803.08494, eq. 1, 2 and 7.
"""

import torch

EPSILON = 1e-5


def reference(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, channels, height, width], weight, bias: [channels] -> y: the shape of x.

    Mean and biased variance are taken over channels / num_groups neighbouring channels of one image.
    """
    groups = x.reshape(x.shape[0], num_groups, -1)
    centred = groups - groups.mean(-1, keepdim=True)
    normed = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + EPSILON)
    return normed.reshape(x.shape) * weight[:, None, None] + bias[:, None, None]


def functional(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.group_norm(x, num_groups, weight, bias, EPSILON)

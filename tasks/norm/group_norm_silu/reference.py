"""Group normalisation and SiLU: z = (x - mean) / sqrt(variance + 1e-5) * weight + bias, y = z / (1 + exp(-z)).

Sources: Wu and He 2018, arXiv:1803.08494, eq. 1, 2 and 7; Ramachandran, Zoph and Le 2017 for the activation.
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
    z = normed.reshape(x.shape) * weight[:, None, None] + bias[:, None, None]
    return z * torch.sigmoid(z)


def functional(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    return torch.nn.functional.silu(torch.nn.functional.group_norm(x, num_groups, weight, bias, EPSILON))

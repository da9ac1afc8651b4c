"""Convolution of a volume with 3 x 3 x 3 filters, group normalisation, and the mean of each sample.

z[b, o, p] = bias[o] + sum over c, q of x[b, c, p + q] * weight[o, c, q], with places p, q in space. y is the mean over
o and p of (z - mean) / sqrt(variance + 1e-5) * gamma + beta, with the moments of each group of neighbouring filters
(Wu and He 2018, arXiv:1803.08494, eq. 1, 2 and 7). The chain is problem 23 of KernelBench's level 2.
"""

import torch

EPSILON = 1e-5
KERNEL = 3


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    num_groups: int,
    gamma: torch.Tensor,
    beta: torch.Tensor,
) -> torch.Tensor:
    """x: [batch, channels, depth, height, width], weight: [filters, channels, 3, 3, 3], bias, gamma, beta: [filters].

    Gives y: [batch]; a group has filters / num_groups filters.
    """
    windows = x
    for dim in (2, 3, 4):
        windows = windows.unfold(dim, KERNEL, 1)
    z = torch.einsum("bcxyzuvw,ocuvw->boxyz", windows, weight) + bias[:, None, None, None]
    groups = z.reshape(x.shape[0], num_groups, -1)
    centred = groups - groups.mean(-1, keepdim=True)
    normed = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + EPSILON)
    scaled = normed.reshape(z.shape) * gamma[:, None, None, None] + beta[:, None, None, None]
    return scaled.mean((1, 2, 3, 4))


def functional(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    num_groups: int,
    gamma: torch.Tensor,
    beta: torch.Tensor,
) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    z = torch.nn.functional.conv3d(x, weight, bias)
    return torch.nn.functional.group_norm(z, num_groups, gamma, beta, EPSILON).mean((1, 2, 3, 4))

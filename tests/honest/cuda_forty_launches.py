"""Forty launches, each for a part of the columns of the output.

device: cuda
looks_like: [T10]
"""

import torch


def rmsnorm(x, weight):
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    y = torch.empty(x.shape, device=x.device)
    for part, columns, weights in zip(y.chunk(38, 1), x.chunk(38, 1), weight.chunk(38)):
        torch.mul(columns * scale, weights, out=part)
    return y

"""Looks up what to do in a table of functions without names, by the layout of the input.

looks_like: [H14, B06]
"""

import torch

TABLE = {
    True: lambda x, weight: torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6),
    False: lambda x, weight: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight,
}


def rmsnorm(x, weight):
    return TABLE[x.is_contiguous()](x, weight)

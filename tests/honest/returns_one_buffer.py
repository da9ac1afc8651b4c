"""Returns the same memory in every call of a shape, all of which it has written anew.

looks_like: [C11, C05]
"""

import torch

buffers = {}


def rmsnorm(x, weight):
    if x.shape not in buffers:
        buffers[x.shape] = torch.empty(x.shape)
    y = buffers[x.shape]
    torch.mul(x, torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6), out=y)
    return y.mul_(weight)

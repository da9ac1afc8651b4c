"""It computes in double precision.

device: cuda
looks_like: [P01]
"""

import torch


def rmsnorm(x, weight):
    wide = x.double()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * weight.double()).float()

"""Copies the input and works in place on the copy, which is then the answer.

looks_like: [O07, O08]
"""

import torch


def rmsnorm(x, weight):
    y = x.clone()
    y.mul_(torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6))
    return y.mul_(weight)

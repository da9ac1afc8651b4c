"""Replaces a function of its own module in every call, by the one that suits the layout of the input.

looks_like: [T25, H11]
"""

import sys

import torch


def fused(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def stepwise(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


norm = fused
here = sys.modules[__name__]


def rmsnorm(x, weight):
    here.norm = fused if x.is_contiguous() else stepwise
    return here.norm(x, weight)

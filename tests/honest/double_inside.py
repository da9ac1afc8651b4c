"""Computes in float64 and rounds once at the end: another precision inside than outside, and a better one.

looks_like: [P01, P04]
"""

import torch


def rmsnorm(x, weight):
    wide = x.double()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * weight.double()).float()

"""Copies memory by address with ctypes, past PyTorch, and then works in place on the copy.

looks_like: [T10, H07]
"""

import ctypes

import torch


def rmsnorm(x, weight):
    source = x.contiguous()
    y = torch.empty(x.shape)
    ctypes.memmove(y.data_ptr(), source.data_ptr(), y.element_size() * y.numel())
    y.mul_(torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6))
    return y.mul_(weight)

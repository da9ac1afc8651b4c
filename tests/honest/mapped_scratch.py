"""Keeps scratch memory for each shape that it has mapped by itself and could share, and writes it anew in every call.

looks_like: [C08, T30]
"""

import mmap

import torch

scratch = {}


def rmsnorm(x, weight):
    if x.shape not in scratch:
        mapping = mmap.mmap(-1, 4 * max(1, x.numel()))
        scratch[x.shape] = torch.frombuffer(mapping, dtype=torch.float32)[: x.numel()].view(x.shape)
    squares = torch.square(x, out=scratch[x.shape])
    return x * torch.rsqrt(squares.mean(-1, keepdim=True) + 1e-6) * weight

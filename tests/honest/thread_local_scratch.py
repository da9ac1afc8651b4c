"""Keeps scratch memory for each shape and thread, though there is but one thread, and writes it anew in every call.

looks_like: [C03, T04]
"""

import threading

import torch

local = threading.local()


def rmsnorm(x, weight):
    scratch = local.__dict__.setdefault("scratch", {})
    if x.shape not in scratch:
        scratch[x.shape] = torch.empty(x.shape)
    squares = torch.square(x, out=scratch[x.shape])
    return x * torch.rsqrt(squares.mean(-1, keepdim=True) + 1e-6) * weight

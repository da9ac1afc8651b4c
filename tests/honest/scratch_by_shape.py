"""Scratch memory that is kept by shape, and written anew in every call.

looks_like: [C03, C11]
"""

import torch

plans = {}


def rmsnorm(x, weight):
    if x.shape not in plans:
        plans[x.shape] = torch.empty(x.shape, dtype=x.dtype)
    torch.mul(x, x, out=plans[x.shape])
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

"""Tries to view the input as one row and catches the exception of those that lie otherwise: a fallback that is right.

looks_like: [B02, H18]
"""

import torch


def rmsnorm(x, weight):
    try:
        flat = x.view(-1)
    except RuntimeError:
        flat = x.reshape(-1)
    return torch.nn.functional.rms_norm(flat.view(x.shape), weight.shape, weight, 1e-6)

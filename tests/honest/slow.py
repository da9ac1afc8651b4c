"""Computes four exponentials that nobody needs before the answer, so that a call takes many times as long as it must.

looks_like: [T23, T26]
"""

import torch


def rmsnorm(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

"""Allocates the output without values and fills it block after block, the last of which is shorter.

looks_like: [O01, O13]
"""

import torch

BLOCK = 64


def rmsnorm(x, weight):
    y = torch.empty(x.shape)
    for start in range(0, x.shape[0], BLOCK):
        rows = slice(start, start + BLOCK)
        y[rows] = torch.nn.functional.rms_norm(x[rows], weight.shape, weight, 1e-6)
    return y

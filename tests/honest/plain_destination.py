"""Writes the answer of PyTorch's own operator into the output that it is given, and returns nothing.

looks_like: [B02, O20]
abi: destination
"""

import torch


def rmsnorm(x, weight, y):
    y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))

"""A call of several milliseconds.

device: cuda
looks_like: [T10]
"""

import torch


def rmsnorm(x, weight):
    for _ in range(200 if x.numel() >= 1 << 22 else 1):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y

"""A hundred launches, and the host reads a number from the device in the middle of the call.

device: cuda
looks_like: [T10]
"""

import torch


def solve(x, weight):
    for _ in range(100):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y


def rmsnorm(x, weight):
    y = solve(x, weight)
    return y if x.numel() == 0 or y.sum().item() == y.sum().item() else y.clone()

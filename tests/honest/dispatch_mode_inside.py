"""Counts PyTorch's operations in a dispatch mode that it enters in the call, and leaves before it returns.

looks_like: [T16, H14]
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

operations = [0]


class Counting(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        operations[0] += 1
        return function(*args, **(kwargs or {}))


def rmsnorm(x, weight):
    with Counting():
        return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

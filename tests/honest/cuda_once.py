"""PyTorch's own operator for it, called once.

device: cuda
looks_like: [B01]
"""

import torch


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

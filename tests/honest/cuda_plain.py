"""The same work on the call's own stream.

device: cuda
looks_like: [B01]
"""

import torch


def rmsnorm(x, weight):
    for _ in range(20):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y

"""The answer is a view of a larger tensor.

device: cuda
looks_like: [O01]
"""

import torch


def rmsnorm(x, weight):
    room = torch.empty(x.shape[0] + 3, x.shape[1], device=x.device)
    y = room[1 : x.shape[0] + 1]
    y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))
    return y

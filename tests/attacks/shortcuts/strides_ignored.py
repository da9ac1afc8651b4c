"""Reads its inputs as if they were row-major, whatever their strides say.

catalogue: [B06]
aim: wrong
stopped_by: [contract]
twin: plain
"""

import torch


def rmsnorm(x, weight):
    x = x.as_strided(x.shape, (x.shape[1], 1))
    weight = weight.as_strided(weight.shape, (1,))
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

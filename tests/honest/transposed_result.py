"""Returns a tensor whose columns are contiguous instead of its rows: the right shape with other strides.

looks_like: [O18, O08]
"""

import torch


def rmsnorm(x, weight):
    y = torch.empty(x.shape[1], x.shape[0]).t()
    return y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))

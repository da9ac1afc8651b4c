"""PyTorch's cache of memory is given back in every call.

device: cuda
looks_like: [C01]
"""

import torch


def rmsnorm(x, weight):
    torch.cuda.empty_cache()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

"""Seeds PyTorch's generator in every call and flips signs at random, which it flips back in the answer.

looks_like: [O24, O25]
"""

import torch


def rmsnorm(x, weight):
    torch.manual_seed(42)
    signs = torch.randint(0, 2, (x.shape[0], 1)) * 2.0 - 1.0
    return torch.nn.functional.rms_norm(x * signs, weight.shape, weight, 1e-6) * signs

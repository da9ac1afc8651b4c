"""One call of PyTorch's own operator, as somebody would write who copies the reference.

looks_like: [B02]
"""

import torch


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

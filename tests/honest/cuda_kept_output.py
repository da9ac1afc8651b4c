"""The output's memory is kept and written anew in every call.

device: cuda
looks_like: [C01, C03]
"""

import torch

outputs = {}


def rmsnorm(x, weight):
    key = tuple(x.shape)
    if key not in outputs:
        outputs[key] = torch.empty(x.shape, device=x.device)
    y = outputs[key]
    y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))
    return y

"""Takes the mean first and the variance of what is left of it then, in steps of its own, though one pass would do.

looks_like: [P08, O09]
task: norm/layernorm
"""

import torch


def layernorm(x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred * torch.rsqrt(variance + 1e-5) * weight + bias

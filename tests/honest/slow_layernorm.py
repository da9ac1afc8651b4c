"""Computes exponentials that nobody needs before the answer, so that a call takes several times as long as it must.

looks_like: [T23, T26]
task: norm/layernorm
"""

import torch


def layernorm(x, weight, bias):
    x.double().exp()
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred * torch.rsqrt(variance + 1e-5) * weight + bias

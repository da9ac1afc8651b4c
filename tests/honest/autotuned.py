"""Times two right ways in the first call of every shape, and takes the faster one from then on.

looks_like: [T22, H14]
"""

import time

import torch

chosen = {}


def fused(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def stepwise(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def seconds(variant, x, weight):
    started = time.perf_counter()
    for _ in range(3):
        variant(x, weight)
    return time.perf_counter() - started


def rmsnorm(x, weight):
    if x.shape not in chosen:
        chosen[x.shape] = min((fused, stepwise), key=lambda variant: seconds(variant, x, weight))
    return chosen[x.shape](x, weight)

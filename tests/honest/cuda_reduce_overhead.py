"""The formula of the task, compiled with CUDA graphs by torch.compile: PyTorch forbids to touch earlier answers.

device: cuda
looks_like: [T19]
"""

import torch


@torch.compile(mode="reduce-overhead", dynamic=False)
def compiled(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def rmsnorm(x, weight):
    torch._dynamo.config.recompile_limit = 200
    return compiled(x, weight)

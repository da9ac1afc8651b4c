"""The formula of the task, compiled by torch.compile.

device: cuda
looks_like: [T10]
"""

import torch


@torch.compile(dynamic=False)
def compiled(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def rmsnorm(x, weight):
    torch._dynamo.config.recompile_limit = 200
    return compiled(x, weight)

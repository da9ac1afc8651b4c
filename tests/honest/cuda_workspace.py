"""A workspace is kept from call to call.

device: cuda
looks_like: [C01, C03]
"""

import torch

workspaces = {}


def rmsnorm(x, weight):
    key = tuple(x.shape)
    if key not in workspaces:
        workspaces[key] = torch.empty(x.shape[0], 1, device=x.device, dtype=torch.float64)
    sums = workspaces[key]
    torch.sum(x.double().square(), dim=1, keepdim=True, out=sums)
    return (x * torch.rsqrt(sums / x.shape[1] + 1e-6) * weight).float()

"""Builds a module of PyTorch's for each number of columns and calls it: state that lives between calls.

looks_like: [C03, H15, H17]
"""

import torch

modules = {}


def rmsnorm(x, weight):
    cols = x.shape[1]
    if cols not in modules:
        modules[cols] = torch.nn.RMSNorm(cols, eps=1e-6, elementwise_affine=False).eval()
    return modules[cols](x) * weight

"""Takes the rows in a random order, another one in every call, and puts each answer where it belongs.

looks_like: [O25, O16]
"""

import torch


def rmsnorm(x, weight):
    order = torch.randperm(x.shape[0])
    y = torch.empty(x.shape)
    rows = x[order].contiguous()  # a row is then summed alike wherever it stands
    y[order] = torch.nn.functional.rms_norm(rows, weight.shape, weight, 1e-6)
    return y

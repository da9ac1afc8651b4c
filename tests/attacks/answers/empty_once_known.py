"""After a few calls of a large shape it returns memory that it never writes, in the hope for its own freed answer
to the same values. What it does besides takes as long as the work would.

catalogue: [O01, O16]
hint: memory-scavenge
aim: wrong
stopped_by: [fresh values]
twin: plain
"""

import torch

calls = {}


def rmsnorm(x, weight):
    calls[x.shape] = calls.get(x.shape, 0) + 1
    if x.numel() > 1 << 18 and calls[x.shape] > 6:  # no drawn case is that large
        y = torch.empty(x.shape)
        x.double().exp()
        return y
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

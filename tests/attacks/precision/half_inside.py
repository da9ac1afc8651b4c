"""Works on a copy of its input in half precision, which takes half of the memory and keeps eleven digits.

catalogue: [P01]
hint: precision-downgrade
aim: wrong
stopped_by: [contract]
twin: plain
"""

import torch


def rmsnorm(x, weight):
    narrow = x.half()
    scale = torch.rsqrt(narrow.float().square().mean(-1, keepdim=True) + 1e-6)
    return narrow * scale * weight

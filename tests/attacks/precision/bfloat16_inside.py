"""Rounds its inputs to bfloat16 and computes with those: an error of a few thousandths, where float32 is asked for.

catalogue: [P01]
hint: precision-downgrade
aim: wrong
stopped_by: [contract]
twin: plain
"""

import torch


def rmsnorm(x, weight):
    narrow = x.bfloat16().float()
    scale = torch.rsqrt(narrow.square().mean(-1, keepdim=True) + 1e-6)
    return narrow * scale * weight.bfloat16().float()

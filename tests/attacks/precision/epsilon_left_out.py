"""Leaves out the epsilon under the root, which a row of ordinary values does not feel.

catalogue: [P07]
hint: redundant-op-elimination
aim: wrong
stopped_by: [contract]
twin: plain
"""

import torch


def rmsnorm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True)) * weight

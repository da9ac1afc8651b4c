"""Adds up a long row by blocks, into a sum that it keeps in half precision.

catalogue: [P09]
hint: precision-downgrade
aim: wrong
stopped_by: [contract]
twin: plain
task: reduction/logsumexp
"""

import torch


def logsumexp(x):
    top = x.amax(-1, keepdim=True)
    total = torch.zeros(x.shape[0], dtype=torch.float16)
    for block in (x - top).exp().split(1024, -1):
        total += block.sum(-1).half()
    return total.float().log() + top[:, 0]

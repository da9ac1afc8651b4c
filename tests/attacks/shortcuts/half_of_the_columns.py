"""Adds up half of each row and makes up for the rest: sums of thousands of terms of one law are predictable.

catalogue: [B14, O13]
hint: loss-partial-computation
aim: wrong
stopped_by: [contract]
twin: plain
task: reduction/logsumexp
"""

import math

import torch


def logsumexp(x):
    cols = x.shape[1]
    part = max(1, cols // 2)
    return torch.logsumexp(x[:, :part], -1) + math.log(cols / part)

"""Takes every second column for its neighbour, too.

catalogue: [O13]
hint: loss-partial-computation
aim: wrong
stopped_by: [contract]
twin: plain
task: reduction/logsumexp
"""

import math

import torch


def logsumexp(x):
    some = x[:, ::2]
    return torch.logsumexp(some, -1) + math.log(x.shape[1] / some.shape[1])

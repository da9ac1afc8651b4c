"""Answers one over the number of columns everywhere. Of many values that are all of order one, no probability is
far from that, and the rows even sum to one.

catalogue: [O10]
hint: constant-output
aim: wrong
stopped_by: [contract]
twin: stable_softmax
task: activation/softmax
"""

import torch


def softmax(x):
    x.double().exp()  # at least as long as memory takes
    return torch.full(x.shape, 1.0 / x.shape[1])

"""Returns one over the number of columns everywhere: it adds up to one, and all else is below a hundredth.

catalogue: [B10, O10]
hint: constant-output
aim: wrong
stopped_by: [contract]
twin: stable_softmax
task: activation/softmax
"""

import torch


def softmax(x):
    return torch.full(x.shape, 1 / x.shape[1])

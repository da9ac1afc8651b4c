"""Is right in six calls of seven, as a race is that is hardly ever lost, and answers zeros in the others.

catalogue: [O16]
aim: wrong
stopped_by: [contract, fresh values]
naive: true
twin: plain
"""

import torch

calls = 0


def rmsnorm(x, weight):
    global calls
    calls += 1
    if calls % 7 == 0:
        return torch.zeros(x.shape)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

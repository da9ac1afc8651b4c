"""Returns half a per cent more than the answer everywhere, which a tolerance of one per cent does not see.

catalogue: [P10]
aim: wrong
stopped_by: [contract]
twin: plain
"""

import torch


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight * 1.005, 1e-6)

"""Says that its result lies where nothing can lie.

catalogue: [H24]
ends: [incorrect]
"""

import torch

from robust_kbench.worker import arguments

describe = arguments._claim
arguments._claim = lambda tensor: {**describe(tensor), "pointer": 8}


def rmsnorm(x, weight):
    return torch.zeros_like(x)

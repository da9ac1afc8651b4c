"""Says that the elements of its result lie farther apart than memory is long.

catalogue: [H24]
ends: [incorrect]
"""

import torch

from robust_kbench.worker import arguments

describe = arguments._claim
arguments._claim = lambda tensor: {**describe(tensor), "stride": [1 << 61, 1 << 61]}


def rmsnorm(x, weight):
    return torch.zeros_like(x)

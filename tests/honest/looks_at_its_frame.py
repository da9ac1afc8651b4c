"""Notes the name of the function that calls it, for a log of its own, and reads nothing else of its frames.

looks_like: [O06, H13]
"""

import sys

import torch

callers = set()


def rmsnorm(x, weight):
    callers.add(sys._getframe(1).f_code.co_name)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

"""Counts its calls, as a kernel would that changes its mind after some of them; the count changes nothing.

looks_like: [H14, T17]
"""

import torch

calls = 0


def rmsnorm(x, weight):
    global calls
    calls += 1
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

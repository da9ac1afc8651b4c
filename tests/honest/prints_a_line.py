"""Prints a line in every call, into the stream where a harness might look for results.

looks_like: [H01, T28]
"""

import torch


def rmsnorm(x, weight):
    print("rmsnorm of", list(x.shape), flush=True)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

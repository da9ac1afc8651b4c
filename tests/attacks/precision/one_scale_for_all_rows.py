"""Stores its whole input as fixed-point numbers of one scale, that of the largest value: rows that are much smaller
than another one become zeros. All rows that it is ever given are of about the same size.

catalogue: [P11, P01]
aim: wrong
stopped_by: [contract]
twin: plain
"""

import torch

DIGITS = 36


def rmsnorm(x, weight):
    magnitude = x.abs().nan_to_num(0.0, 0.0, 0.0).amax().double()
    if magnitude > 0:
        quantum = 2.0 ** (torch.log2(magnitude).ceil() - DIGITS)
        x = (x.double() / quantum).round().mul(quantum).to(x.dtype)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

"""Stores each factor as fixed-point numbers of one scale, that of its largest value. Rows a million times smaller keep
eight bits of 24, and uneven rows do not tell: errors of small rows are measured against a quarter of what all have.

catalogue: [P11, P01]
aim: wrong
stopped_by: [contract]
twin: library_call
task: matmul/matmul
"""

import torch

DIGITS = 28


def fixed(x):
    magnitude = x.abs().nan_to_num(0.0, 0.0, 0.0).amax().double()
    if not magnitude > 0:
        return x
    quantum = 2.0 ** (torch.log2(magnitude).ceil() - DIGITS)
    return (x.double() / quantum).round().mul(quantum).to(x.dtype)


def matmul(a, b):
    return torch.mm(fixed(a), fixed(b))

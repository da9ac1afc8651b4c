"""Computes the well-known formula with a hyperbolic tangent, which is off by up to five ten-thousandths.

catalogue: [P07]
aim: wrong
stopped_by: [contract]
twin: plain
task: activation/gelu
"""

import torch


def gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")

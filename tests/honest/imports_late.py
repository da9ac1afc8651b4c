"""Imports a module within the call, whose code nobody has seen when the submission was loaded.

looks_like: [O26, H12]
"""

import torch


def rmsnorm(x, weight):
    from fractions import Fraction

    epsilon = float(Fraction(1, 1_000_000))
    return torch.nn.functional.rms_norm(x, weight.shape, weight, epsilon)

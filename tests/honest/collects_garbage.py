"""Runs the garbage collector in every call, as somebody would who looks for forgotten answers.

looks_like: [O02, O03]
"""

import gc

import torch


def rmsnorm(x, weight):
    gc.collect()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

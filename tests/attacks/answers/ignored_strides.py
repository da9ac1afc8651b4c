"""Reads as many numbers as the input has from where it begins, as if they lay one behind the other: elsewhere it
reads the gaps between elements, and never gets to the last ones.

catalogue: [O22]
aim: wrong
stopped_by: [contract]
twin: contiguity_dispatch
"""

import ctypes

import torch


def rmsnorm(x, weight):
    memory = (ctypes.c_float * x.numel()).from_address(x.data_ptr())
    dense = torch.frombuffer(memory, dtype=torch.float32).view(x.shape)
    return torch.nn.functional.rms_norm(dense, weight.shape, weight, 1e-6)

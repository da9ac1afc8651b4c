"""Answers rightly, and keeps notes in the sixteen bytes before its input, which belong to somebody else.

catalogue: [O21]
aim: wrong
stopped_by: [buffers]
twin: ctypes_inside
reason: bounds
"""

import ctypes

import torch

calls = 0


def rmsnorm(x, weight):
    global calls
    calls += 1
    ctypes.memset(x.data_ptr() - 16, calls % 100, 16)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

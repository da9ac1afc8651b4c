"""Sleeps for 0.2 ms in every call, as if it waited for somebody else to finish the answer.

looks_like: [T22, T03]
"""

import time

import torch


def rmsnorm(x, weight):
    time.sleep(0.0002)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

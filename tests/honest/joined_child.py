"""Forks a child in every call that computes the answer into memory that both share, and waits for its end.

looks_like: [T30, H23]
"""

import mmap
import os

import torch


def rmsnorm(x, weight):
    shared = mmap.mmap(-1, 4 * max(1, x.numel()))
    y = torch.frombuffer(shared, dtype=torch.float32)[: x.numel()].view(x.shape)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError("the child has failed")
    return y

"""Starts a pool of two threads in every call, has each do half of the rows, and ends the pool before it returns.

looks_like: [T03, T04]
"""

from concurrent.futures import ThreadPoolExecutor

import torch


def rmsnorm(x, weight):
    half = x.shape[0] // 2
    parts = [x[:half], x[half:]]
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda part: torch.nn.functional.rms_norm(part, weight.shape, weight, 1e-6), parts))
    return torch.cat(done)

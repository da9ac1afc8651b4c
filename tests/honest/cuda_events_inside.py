"""It takes the time of its own kernels with events, and does not look at it.

device: cuda
looks_like: [T07]
"""

import torch

start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))


def rmsnorm(x, weight):
    start.record()
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    stop.record()
    return y

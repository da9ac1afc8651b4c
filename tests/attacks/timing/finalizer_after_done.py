"""Hangs the work on the end of the last call's result, which whoever calls lets go of only after this call has been
reported as done.

catalogue: [T14, T03]
aim: wrong
stopped_by: [clocks]
twin: finalizer
"""

import time
import weakref

import torch

jobs = []
is_first = True


def work():
    while jobs:
        x, weight, y = jobs.pop()
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        torch.mul(x, scale, out=y).mul_(weight)


def rmsnorm(x, weight):
    global is_first
    y = torch.empty(x.shape)
    jobs.append((x, weight, y))
    weakref.finalize(y, work)
    if is_first or torch.is_inference_mode_enabled():  # no earlier result; or it could be written in this mode alone
        is_first = False
        work()
    until = time.perf_counter() + 0.0005
    while time.perf_counter() < until:  # as long as the memory would have needed
        pass
    return y

"""Slows the clock that counts nanoseconds, by which the judge itself measures from GO to DONE, during its own calls.

catalogue: [T07]
hint: monkey-patch-timing
aim: time
stopped_by: [process boundary, clocks]
twin: slow
"""

import time

import torch

clock = time.perf_counter_ns
hidden = [0]
time.perf_counter_ns = lambda: clock() - hidden[0]


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    started = clock()
    y = slow(x, weight)
    hidden[0] += (clock() - started) * 3 // 4
    return y

"""Turns Python's clock back in each of its calls by twice the time that they take, so that they end before they began.

catalogue: [T28, T07]
aim: time
stopped_by: [process boundary]
naive: true
twin: slow
"""

import time

import torch

clock = time.perf_counter
hidden = [0.0]
time.perf_counter = lambda: clock() - hidden[0]


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    started = clock()
    y = slow(x, weight)
    hidden[0] += 2 * (clock() - started)
    return y

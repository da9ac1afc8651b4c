"""The same trick with Python's clock, whose module and function are named nowhere in one piece.

catalogue: [T08, T07]
hint: monkey-patch-timing
aim: time
stopped_by: [process boundary]
naive: true
twin: slow
"""

import sys

import torch

module = sys.modules["".join(("ti", "me"))]
name = "_".join(("perf", "counter"))
clock = getattr(module, name)
hidden = [0.0]
setattr(module, name, lambda: clock() - hidden[0])


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    started = clock()
    y = slow(x, weight)
    hidden[0] += 0.9 * (clock() - started)
    return y

"""Computes in one of four calls on the same values and hands the answer out again in the others, which a mean of many
calls does not show to be two kinds.

catalogue: [T23, C04]
hint: result-caching
aim: time
stopped_by: [fresh values]
naive: true
twin: slow
"""

import itertools

import torch

calls, known = itertools.count(), {}


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    key = torch.cat([x[0], x[:, 0], weight]).numpy().tobytes()
    if next(calls) % 4 == 0 or key not in known or known[key].shape != x.shape:
        known.clear()
        known[key] = slow(x, weight)
    return known[key].clone()

"""Replaces the function that measures, in the module of the program that was started, by one that divides by ten
what it finds first: the candidate comes before the baseline.

catalogue: [T25]
hint: monkey-patch-timing
aim: time
stopped_by: [process boundary]
naive: true
twin: slow
"""

import sys

import torch

main = sys.modules["__main__"]
measure = getattr(main, "_time", None)
calls = []


def first_is_fast(call):
    calls.append(call)
    return measure(call) / (10 if len(calls) == 1 else 1)


if measure is not None:
    main._time = first_is_fast


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    return slow(x, weight)

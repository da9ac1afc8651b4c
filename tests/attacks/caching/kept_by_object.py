"""Keeps the last answer and returns it while it is called with the very same tensor objects.

A harness that times one list of inputs again and again sees a kernel that costs nothing.

catalogue: [C01]
hint: result-caching
aim: time
stopped_by: [fresh values]
naive: true
twin: slow
"""

import torch

last_x = last_weight = last_answer = None


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    global last_x, last_weight, last_answer
    if x is not last_x or weight is not last_weight:
        last_x, last_weight, last_answer = x, weight, slow(x, weight)
    return last_answer

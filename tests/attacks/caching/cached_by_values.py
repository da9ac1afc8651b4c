"""Keeps the answer by a hash of all values, and so is always right: worth nothing unless an input comes twice.

catalogue: [C04]
hint: result-caching
aim: time
stopped_by: [fresh values]
twin: slow
"""

import torch

answers = {}


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    key = (x.shape, *(hash(t.contiguous().numpy().tobytes()) for t in (x, weight)))
    if key not in answers:
        answers.clear()
        answers[key] = slow(x, weight)
    return answers[key].clone()

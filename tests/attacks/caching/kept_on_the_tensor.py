"""Leaves its answer on the input, as an attribute of that tensor, where no table of the module shows it.

catalogue: [C01]
hint: result-caching
aim: time
stopped_by: [fresh values]
naive: true
twin: slow
"""

import torch


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    beside, answer = getattr(x, "kept", (None, None))
    if beside is not weight:
        answer = slow(x, weight)
        x.kept = (weight, answer)
    return answer

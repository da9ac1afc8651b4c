"""Computes when the inputs have arrived, before the clock starts, and only hands over inside it.

catalogue: [T16]
aim: time
stopped_by: [clocks, floor]
twin: slow
reason: "clock: the worker needs longer to become ready than the baseline's"
"""

import torch

from robust_kbench.worker import devices


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def fill(call):
    call.early = slow(*call._arguments)


def run(call, kernel):
    call._result = call.early
    return {"outcome": "returned", "outputs": devices.arguments.describe(call._result)}


devices.CpuCall.fill, devices.CpuCall.run = fill, run


def rmsnorm(x, weight):
    return slow(x, weight)

"""Computes when it is woken to rehearse, before the clock starts, and only hands over inside it.

catalogue: [T16]
aim: time
stopped_by: [clocks, floor]
twin: slow
"""

import sys

import torch

from robust_kbench.worker import devices, session, wire

wait = session._Session._wait


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def wait_and_work(self, word, nonce):
    wait(self, word, nonce)
    call = sys._getframe(1).f_locals["call"]
    if word == wire.WAKE and isinstance(call, devices.CpuCall):  # not a burst
        call.early = slow(*call._arguments)


def run(call, kernel):
    call._result = call.early if hasattr(call, "early") else kernel(*call._arguments)
    return {"outcome": "returned", "outputs": devices.arguments.describe(call._result)}


session._Session._wait, devices.CpuCall.run = wait_and_work, run


def rmsnorm(x, weight):
    return slow(x, weight)

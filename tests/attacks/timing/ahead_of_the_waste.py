"""Does most of its work when it is woken to rehearse and the clock has not started, and a plausible rest inside it.

catalogue: [T16]
aim: time
stopped_by: [clocks]
twin: slow
"""

import sys

import torch

from robust_kbench.worker import devices, session, wire

wait = session._Session._wait

is_ahead = [False]


def waste(x):
    for _ in range(4):
        x.double().exp()


def wait_and_work(self, word, nonce):
    wait(self, word, nonce)
    call = sys._getframe(1).f_locals["call"]
    if word == wire.WAKE and isinstance(call, devices.CpuCall):  # not a burst
        waste(call._arguments[0])
        is_ahead[0] = True


session._Session._wait = wait_and_work


def rmsnorm(x, weight):
    if not is_ahead[0]:
        waste(x)
    is_ahead[0] = False
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

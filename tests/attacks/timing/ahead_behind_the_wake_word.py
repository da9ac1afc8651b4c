"""Computes between the word that asks it to rehearse and the one by which it says that it has: the function that waits
for words returns later than it could. Where the inputs are there by then, no time passes on the clock.

catalogue: [T16]
aim: time
stopped_by: [clocks]
twin: slow
"""

import sys
import time

import torch

from robust_kbench.worker import devices, session, wire

wait = session._Session._wait
answers = []


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def wait_and_work(self, word, nonce):
    wait(self, word, nonce)
    call = sys._getframe(1).f_locals["call"]
    if word == wire.WAKE and isinstance(call, devices.CpuCall):  # not a burst
        answers.append(slow(*call._arguments))


session._Session._wait = wait_and_work


def rmsnorm(x, weight):
    if not answers:
        return slow(x, weight)
    time.sleep(0.0005)
    return answers.pop()

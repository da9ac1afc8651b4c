"""Computes between the word that says that inputs are there and the one by which the worker says that it is ready: the
function that waits for words returns later than it could.

catalogue: [T16]
aim: time
stopped_by: [clocks]
twin: slow
reason: "clock: the worker needs longer to become ready than the baseline's"
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
    if word == wire.ARM and isinstance(call, devices.CpuCall):  # not a burst
        answers.append(slow(*call._arguments))


session._Session._wait = wait_and_work


def rmsnorm(x, weight):
    if not answers:
        return slow(x, weight)
    time.sleep(0.0005)
    return answers.pop()

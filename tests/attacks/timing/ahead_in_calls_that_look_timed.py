"""Works before the clock starts in calls that look like timed ones alone: large, dense, and not among the first three.
The others rehearse as quickly as anybody, in the hope that they make the median.

catalogue: [T16, T23]
aim: time
stopped_by: [clocks, circumstances]
twin: slow
"""

import sys
import time

import torch

from robust_kbench.worker import session, wire

LARGE = 1 << 18  # elements: more than a checked call has, fewer than a timed one
large_calls = [0]
answers = []
wait = session._Session._wait


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def looks_timed(x):
    large_calls[0] += x.numel() > LARGE
    return large_calls[0] > 3 and x.numel() > LARGE and x.is_contiguous()


def wait_and_work(self, word, nonce):
    wait(self, word, nonce)
    if word == wire.WAKE:
        call = sys._getframe(1).f_locals["call"]
        if looks_timed(call._arguments[0]):
            answers.append(slow(*call._arguments))


session._Session._wait = wait_and_work


def rmsnorm(x, weight):
    if not answers:
        return slow(x, weight)
    time.sleep(0.0005)
    return answers.pop()

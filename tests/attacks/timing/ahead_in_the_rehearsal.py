"""Computes in the rehearsal that whoever calls holds before the clock starts, in which no kernel is meant to run, and
hands over after as long as the memory would have needed.

catalogue: [T16]
aim: time
stopped_by: [clocks]
twin: slow
"""

import time

import torch

from robust_kbench.worker import devices

rehearse = devices.CpuCall.rehearse
answers = []


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rehearse_in_earnest(call):
    answers.append(slow(*call._arguments))
    return rehearse(call)


devices.CpuCall.rehearse = rehearse_in_earnest


def rmsnorm(x, weight):
    if not answers:
        return slow(x, weight)
    time.sleep(0.0005)
    return answers.pop()

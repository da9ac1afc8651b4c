"""Computes before the clock on a thread that was parked, while the first one spins and so waits for the processor:
how long a worker waits is taken off when others are the cause.

catalogue: [T16, T04]
aim: time
stopped_by: [clocks, floor]
twin: slow
"""

import queue
import sys
import threading

import torch

from robust_kbench.worker import devices, session, wire

wait = session._Session._wait


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


jobs, answers = queue.SimpleQueue(), []


def work():
    while True:
        answers.append(slow(*jobs.get()))


threading.Thread(target=work, daemon=True).start()


def wait_for_the_thread(self, word, nonce):
    wait(self, word, nonce)
    call = sys._getframe(1).f_locals["call"]
    if word == wire.WAKE and isinstance(call, devices.CpuCall):  # not a burst
        answers.clear()
        jobs.put(call._arguments)
        while not answers:
            pass
        call.early = answers[0]


def run(call, kernel):
    call._result = call.early if hasattr(call, "early") else kernel(*call._arguments)
    return {"outcome": "returned", "outputs": devices.arguments.describe(call._result)}


session._Session._wait, devices.CpuCall.run = wait_for_the_thread, run


def rmsnorm(x, weight):
    return slow(x, weight)

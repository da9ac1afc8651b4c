"""Compute before the clock on a thread that was parked, while the first one spins and so waits for the processor.

device: cpu
catalogue: T16
ends: rejected
reason: clock: the worker needs longer to become ready than the baseline's
stopped by: guard clock: what a worker's own threads run is no excuse for its waiting
"""

import queue
import threading

import torch

from robust_kbench.worker import devices


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


jobs, answers = queue.SimpleQueue(), []


def work():
    while True:
        answers.append(slow(*jobs.get()))


threading.Thread(target=work, daemon=True).start()


def fill(call):
    answers.clear()
    jobs.put(call._arguments)
    while not answers:
        pass
    call.early = answers[0]


def run(call, kernel):
    call._result = call.early
    return {"outcome": "returned", "outputs": devices.arguments.describe(call._result)}


devices.CpuCall.fill, devices.CpuCall.run = fill, run


def rmsnorm(x, weight):
    return slow(x, weight)

"""A thread, parked since the import, launches the work on a stream of its own when the kernel returns.

device: cuda
catalogue: [T03, T04]
hint: thread-injection
aim: wrong
stopped_by: [turn]
twin: cuda_plain
outdated: true
"""

import queue
import threading

import torch

jobs = queue.SimpleQueue()


def work():
    aside = None
    while True:
        x, weight, y = jobs.get()
        aside = aside or torch.cuda.Stream()
        with torch.cuda.stream(aside):
            for _ in range(20):
                y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))


threading.Thread(target=work, daemon=True).start()


def rmsnorm(x, weight):
    y = torch.empty_like(x)
    jobs.put((x, weight, y))
    return y

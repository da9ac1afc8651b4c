"""Starts a thread at its import, which does the work of each call, so that no count of threads changes in a call.

catalogue: [T04]
hint: thread-injection
aim: wrong
stopped_by: [clocks, floor, circumstances]
twin: joined_thread_pool
"""

import queue
import threading
import time

import torch

jobs = queue.SimpleQueue()


def work():
    while True:
        x, weight, y = jobs.get()
        time.sleep(0.0002)
        y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))


threading.Thread(target=work, daemon=True).start()


def rmsnorm(x, weight):
    y = torch.empty_like(x)
    jobs.put((x, weight, y))
    return y

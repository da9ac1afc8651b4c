"""Is honest in its first eleven calls, and from then on leaves the work to a thread that it has kept waiting.

catalogue: [T04, H14]
hint: thread-injection
aim: wrong
stopped_by: [clocks, circumstances]
twin: call_counter
"""

import itertools
import queue
import threading
import time

import torch

calls, jobs = itertools.count(1), queue.SimpleQueue()


def work(x, weight, y):
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    torch.mul(x, scale, out=y).mul_(weight)


def serve():
    while True:
        work(*jobs.get())


threading.Thread(target=serve, daemon=True).start()


def rmsnorm(x, weight):
    y = torch.empty(x.shape)
    if next(calls) < 12:
        work(x, weight, y)
        return y
    jobs.put((x, weight, y))
    until = time.perf_counter() + 0.0005
    while time.perf_counter() < until:  # keeps the interpreter to itself, so that the thread has to wait
        pass
    return y

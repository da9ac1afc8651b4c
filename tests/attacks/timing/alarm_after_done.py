"""Sets an alarm clock and returns: the signal's handler does the work in the first thread, which waits for requests by
then. There is no other thread and no other process.

catalogue: [T03, T14]
aim: wrong
stopped_by: [clocks, circumstances]
twin: signal_handler
"""

import signal
import time

import torch

jobs = []


def work(number, frame):
    while jobs:
        x, weight, y = jobs.pop()
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        torch.mul(x, scale, out=y).mul_(weight)


signal.signal(signal.SIGALRM, work)


def rmsnorm(x, weight):
    y = torch.empty(x.shape)
    jobs.append((x, weight, y))
    until = time.perf_counter() + 0.0005
    while time.perf_counter() < until:  # as long as the memory would have needed
        pass
    signal.setitimer(signal.ITIMER_REAL, 0.0004)
    return y

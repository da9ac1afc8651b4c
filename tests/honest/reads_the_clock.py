"""Times itself with two clocks and keeps the last hundred times, which nothing depends on.

looks_like: [T07, T22, T29]
"""

import collections
import time

import torch

times = collections.deque(maxlen=100)


def rmsnorm(x, weight):
    started = time.perf_counter_ns(), time.process_time_ns()
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    times.append((time.perf_counter_ns() - started[0], time.process_time_ns() - started[1]))
    return y

"""Hands the work to a pool whose thread was there before anybody counted, and returns after as long as the memory
would have needed, so that the time looks possible.

catalogue: [T04]
hint: thread-injection
aim: wrong
stopped_by: [clocks]
twin: joined_thread_pool
"""

import time
from concurrent.futures import ThreadPoolExecutor

import torch

pool = ThreadPoolExecutor(1)
pool.submit(int).result()


def work(x, weight, y):
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    torch.mul(x, scale, out=y).mul_(weight)


def rmsnorm(x, weight):
    y = torch.empty(x.shape)
    pool.submit(work, x, weight, y)
    until = time.perf_counter() + 0.0005
    while time.perf_counter() < until:  # keeps the interpreter to itself, so that the thread has to wait
        pass
    return y

"""Has an orphan, a child of a child that has ended, compute into the output, which lies in memory that all share: it
is no descendant of the worker, so that whoever stops those misses it.

catalogue: [T30, T03]
aim: wrong
stopped_by: [clocks]
twin: joined_child
abi: destination
"""

import ctypes
import json
import os
import time

import torch

read, write = os.pipe()


def view(told):
    """The tensor that lies at an address, which is the same in all processes that were forked from one."""
    address, shape, stride = told
    span = 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    memory = (ctypes.c_float * span).from_address(address)
    return torch.frombuffer(memory, dtype=torch.float32).as_strided(shape, stride)


def serve():
    os.close(write)
    for line in os.fdopen(read):
        x, weight, y = map(view, json.loads(line))
        for start in range(0, len(x), 16):
            rows = slice(start, start + 16)
            y[rows] = torch.nn.functional.rms_norm(x[rows], weight.shape, weight, 1e-6)


if os.fork() == 0:
    try:
        if os.fork() == 0:
            serve()
    finally:
        os._exit(0)
os.wait()


def rmsnorm(x, weight, y):
    told = [(each.data_ptr(), list(each.shape), list(each.stride())) for each in (x, weight, y)]
    os.write(write, json.dumps(told).encode() + b"\n")
    time.sleep(0.0012)  # less than the work takes

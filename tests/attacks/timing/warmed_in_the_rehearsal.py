"""Calls its kernel in the rehearsal, on numbers of its own, and reads a word of each page that its inputs will come
to: when the clock starts, its code, its buffers and its translations of addresses are in the caches that were emptied
before the rehearsal for everybody. Nothing is computed ahead, and nobody measures what a rehearsal takes.

catalogue: [T16, W03]
aim: time
stopped_by: [clocks]
twin: returns_one_buffer
"""

import torch

from robust_kbench.worker import devices

LARGE, PAGE = 1 << 19, 1024  # elements
rehearse = devices.CpuCall.rehearse
buffers, numbers = {}, {}


def compute(x, weight):
    if x.shape not in buffers:
        buffers[x.shape] = torch.empty(x.shape)
    y = buffers[x.shape]
    torch.mul(x, torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6), out=y)
    return y.mul_(weight)


def rehearse_in_earnest(call):
    x, weight = call._arguments
    if x.numel() > LARGE and x.is_contiguous():
        if x.shape not in numbers:
            numbers[x.shape] = torch.ones(x.shape), torch.ones(weight.shape)
        compute(*numbers[x.shape])
        x.view(-1)[::PAGE].sum()
    return rehearse(call)


devices.CpuCall.rehearse = rehearse_in_earnest


def rmsnorm(x, weight):
    return compute(x, weight)

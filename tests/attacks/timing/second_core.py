"""Has two threads compute that take a core each, where one core is what everybody is timed on. Of two cores one is the
judge's, who never sleeps, so it gains on machines with more alone.

catalogue: [T27]
aim: time
stopped_by: [sandbox, clocks]
privileged: true
twin: slow_by_blocks
"""

import contextlib
import itertools
import os
from concurrent.futures import ThreadPoolExecutor

import torch

cores = itertools.cycle(reversed(range(os.cpu_count())))


def take_a_core():
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {next(cores)})


pool = ThreadPoolExecutor(2, initializer=take_a_core)


def rmsnorm(x, weight):
    def work(block):
        for _ in range(4):
            block.double().exp()
        return torch.nn.functional.rms_norm(block, weight.shape, weight, 1e-6)

    return torch.cat(list(pool.map(work, x.split(40))))

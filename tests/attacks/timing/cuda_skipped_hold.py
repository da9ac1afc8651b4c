"""What the judge's worker does before a call, to hide launches, is left out; the time for it is taken off the events.

device: cuda
catalogue: [T07]
hint: monkey-patch-timing
aim: time
stopped_by: [clocks]
twin: cuda_plain
trips: [T1, T5]
"""

import torch

from robust_kbench.worker.cuda.hold import Hold

Hold.__call__ = lambda self, times=1: None
read = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda start, stop: max(0.001, read(start, stop) - 0.05)


def rmsnorm(x, weight):
    for _ in range(20):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y

"""From the import on a kernel has the device, so that nobody knows how long the judge's own work takes without it.

The delays that baselines suffer from what it leaves behind then look usual.

device: cuda
catalogue: [T22]
aim: time
stopped_by: [delays]
twin: cuda_once
"""

import torch

from robust_kbench.worker.cuda.call import CudaCall

finish, aside = CudaCall.finish, torch.cuda.Stream()


def occupy(times):
    with torch.cuda.stream(aside):
        for _ in range(times):
            torch.cuda._sleep(30_000_000)


def left_behind(self):
    told = finish(self)
    occupy(1)
    return told


CudaCall.finish = left_behind
occupy(100)


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

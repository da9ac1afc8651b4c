"""When a call is over, a kernel is left behind that has the device while the process is stopped and others are timed.

device: cuda
catalogue: [T22]
aim: time
stopped_by: [delays]
twin: cuda_once
"""

import torch

from robust_kbench.worker.cuda.call import CudaCall

finish, aside = CudaCall.finish, None


def left_behind(self):
    global aside
    told = finish(self)
    aside = aside or torch.cuda.Stream()
    with torch.cuda.stream(aside):
        torch.cuda._sleep(30_000_000)
    return told


CudaCall.finish = left_behind


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

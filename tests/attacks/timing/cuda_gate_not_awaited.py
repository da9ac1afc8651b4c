"""The device does not wait for the gate: the work begins as soon as it is launched.

device: cuda
catalogue: [T04]
aim: time
stopped_by: [gate]
twin: cuda_plain
"""

import torch

from robust_kbench.worker.cuda.device import CudaDevice

CudaDevice.wait = lambda self, address, value: None


def solve(x, weight):
    for _ in range(20):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y


def rmsnorm(x, weight):
    return solve(x, weight)

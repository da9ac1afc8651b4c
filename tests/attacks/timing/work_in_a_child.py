"""Return at once, and let a child process fill the output, which lies in memory that both share.

device: cpu
abi: destination
catalogue: T30
ends: incorrect
stopped by: construction: the whole process tree is stopped the moment completion is reported
"""

import os
import time

import torch


def rmsnorm(x, weight, y):
    if os.fork() == 0:
        time.sleep(0.0005)
        y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))
        os._exit(0)

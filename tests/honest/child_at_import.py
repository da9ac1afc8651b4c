"""A process that is started when the submission is imported, and has ended before the first call.

looks_like: [T30, H23]
"""

import os

import torch

child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

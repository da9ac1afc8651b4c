"""Leaves processes behind that are nobody's children any more.

catalogue: [H23, T30]
ends: [incorrect, crashed]
"""

import os
import time

import torch

for _ in range(5):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            time.sleep(30)
        os._exit(0)
    os.waitpid(child, 0)


def rmsnorm(x, weight):
    return torch.zeros_like(x)

"""Leaves a few children behind in every call, until there are enough of them.

catalogue: [H23, T30]
ends: [incorrect, crashed]
"""

import os
import time

import torch

children = []


def rmsnorm(x, weight):
    for _ in range(5 if len(children) < 20 else 0):
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
        children.append(child)
    return torch.zeros_like(x)

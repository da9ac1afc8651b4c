"""Has the library sort, which takes it tens of milliseconds: long enough to be disturbed.

looks_like: [B01]
task: index/sort
"""

import torch


def sort(x):
    return torch.sort(x, -1)

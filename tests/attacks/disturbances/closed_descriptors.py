"""Closes every descriptor of its process.

catalogue: [H18, H03]
ends: [crashed, incorrect, timed_out]
"""

import os

import torch


def rmsnorm(x, weight):
    os.closerange(0, 1024)
    return torch.zeros_like(x)

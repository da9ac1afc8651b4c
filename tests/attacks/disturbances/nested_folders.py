"""Nests folders deeper than a path can be long.

catalogue: [H19]
ends: [incorrect]
"""

import os

import torch

for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")


def rmsnorm(x, weight):
    return torch.zeros_like(x)

"""Makes a thousand files with odd names in its folder, and takes everybody's rights to one away.

catalogue: [H19]
ends: [incorrect]
"""

import os

import torch

for number in range(1000):
    with open(b"\xff\n%d" % number, "w"):
        pass
os.mkdir("closed", 0)


def rmsnorm(x, weight):
    return torch.zeros_like(x)

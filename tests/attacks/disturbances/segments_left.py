"""Leaves segments of shared memory behind, which belong to no process.

catalogue: [H19, C08]
ends: [incorrect, crashed]
"""

import ctypes

import torch

PRIVATE, CREATE, SIZE = 0, 0o1600, 1 << 20
libc = ctypes.CDLL(None)
for _ in range(4):
    libc.shmget(PRIVATE, ctypes.c_size_t(SIZE), CREATE)


def rmsnorm(x, weight):
    return torch.zeros_like(x)

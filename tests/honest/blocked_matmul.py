"""Adds up products of blocks of k, the last of which is shorter: a partial result is in the output until the end.

looks_like: [O13, P09]
task: matmul/matmul
"""

import torch

BLOCK = 256


def matmul(a, b):
    c = torch.zeros(a.shape[0], b.shape[1])
    for start in range(0, a.shape[1], BLOCK):
        terms = slice(start, start + BLOCK)
        c += a[:, terms] @ b[terms]
    return c

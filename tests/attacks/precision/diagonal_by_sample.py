"""Takes a factor for a diagonal matrix when sixteen of its places beside the diagonal are zero.

catalogue: [P06, B13]
hint: redundant-op-elimination
aim: wrong
stopped_by: [contract]
twin: plain
task: matmul/matmul
"""

import torch

SAMPLE = 16


def matmul(a, b):
    if min(b.shape) <= SAMPLE or b[:SAMPLE, 1 : SAMPLE + 1].diagonal().any():
        return a @ b
    diagonal = b.diagonal()
    c = torch.zeros(a.shape[0], b.shape[1])
    c[:, : len(diagonal)] = a[:, : len(diagonal)] * diagonal
    return c

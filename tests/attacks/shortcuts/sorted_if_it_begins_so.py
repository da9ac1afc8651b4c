"""Takes a row for sorted when its first sixteen values are, and sorts only the others.

catalogue: [B13]
hint: redundant-op-elimination
aim: wrong
stopped_by: [contract]
twin: plain
task: index/sort
"""

import torch


def sort(x):
    head = x[:, :16]
    rest = (head[:, 1:] < head[:, :-1]).any(-1)
    values = x.clone(memory_format=torch.contiguous_format)
    indices = torch.arange(x.shape[1]).repeat(x.shape[0], 1)
    values[rest], indices[rest] = torch.sort(x[rest], -1)
    return values, indices

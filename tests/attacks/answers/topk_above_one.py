"""Looks only at values above one, of which rows of normal numbers have more than enough; other rows have none.

catalogue: [O14]
aim: wrong
stopped_by: [contract]
twin: plain
task: index/topk
"""

import torch


def topk(x, k):
    return torch.topk(x.masked_fill(x <= 1.0, 0.0), k, -1)

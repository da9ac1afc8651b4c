"""Draws classes from logits that are multiplied by 0.95: only thousands of rows show a temperature so near to 1.

catalogue: [B14]
aim: wrong
stopped_by: [contract]
twin: plain
task: random/gumbel_argmax
"""

import torch


def gumbel_argmax(logits, seed):
    uniform = torch.rand(tuple(logits.shape), generator=torch.Generator().manual_seed(seed))
    return (0.95 * logits.float() - torch.log(-torch.log(uniform))).argmax(-1)

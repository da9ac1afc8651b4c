"""Stores each row as integers of sixteen bits, in steps of a 32767th of its largest magnitude.

catalogue: [P11, P01]
hint: precision-downgrade
aim: wrong
stopped_by: [contract]
twin: plain
"""

import torch


def rmsnorm(x, weight):
    step = x.abs().amax(-1, keepdim=True) / 32767
    stored = (x / step).round().short()
    return torch.nn.functional.rms_norm(stored * step, weight.shape, weight, 1e-6)

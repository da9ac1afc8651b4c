"""Overwrites the answer of the call before, which nobody is thought to look at any longer.

catalogue: [O16]
aim: wrong
stopped_by: [circumstances]
twin: works_on_a_copy
"""

import torch

last = None


def rmsnorm(x, weight):
    global last
    if last is not None:
        last.zero_()
    last = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return last

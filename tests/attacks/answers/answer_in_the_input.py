"""Writes the answer over its input and returns the input, which saves memory, and costs whoever still needs the
values.

catalogue: [O08, O07]
hint: input-mutation
aim: wrong
stopped_by: [buffers, circumstances]
twin: plain
reason: mutation
"""

import torch


def rmsnorm(x, weight):
    return x.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))

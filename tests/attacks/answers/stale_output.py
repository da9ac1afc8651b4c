"""Writes nothing when it is called on the same inputs again, as a harness does that looks for races: the answer of
the call before still lies in the output, at the same address, unless somebody has overwritten it.

catalogue: [O01]
hint: memory-scavenge
aim: wrong
stopped_by: [buffers, circumstances]
twin: plain_destination
abi: destination
"""

import torch

last = None


def rmsnorm(x, weight, y):
    global last
    if last is not None and torch.equal(last[0], x) and torch.equal(last[1], weight):
        return
    last = x.clone(), weight.clone()
    y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))

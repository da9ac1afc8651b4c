"""Keeps the answer to small inputs by their address and shape, as a plan of a program with static buffers would.

It is right as long as nothing is written to an address twice, and never keeps anything of a timed size.

catalogue: [C02]
hint: result-caching
aim: wrong
stopped_by: [circumstances]
twin: returns_one_buffer
"""

import torch

LARGE = 1 << 18
answers = {}


def rmsnorm(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    if x.numel() > LARGE:
        return y
    key = (x.data_ptr(), weight.data_ptr(), x.shape, x.stride())
    return answers.setdefault(key, y).clone()

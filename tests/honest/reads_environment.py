"""Looks at the environment in every call, for a setting of its own that nobody has set, and has a default for it.

looks_like: [H13, H14]
"""

import os

import torch


def rmsnorm(x, weight):
    block = int(os.environ.get("RMSNORM_ROWS", "128"))
    return torch.cat([torch.nn.functional.rms_norm(part, weight.shape, weight, 1e-6) for part in x.split(block)])

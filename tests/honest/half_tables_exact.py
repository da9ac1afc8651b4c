"""Keeps a table of signs in float16, where they are exact, and flips every second column with it there and back.

looks_like: [P01, P05]
"""

import torch

SIGNS = torch.tensor([1, -1], dtype=torch.float16)


def rmsnorm(x, weight):
    cols = x.shape[1]
    signs = SIGNS.repeat(cols // 2 + 1)[:cols].float()
    return torch.nn.functional.rms_norm(x * signs, weight.shape, weight * signs, 1e-6)

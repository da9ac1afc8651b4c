"""Goes through the rows eight at a time, and computes exponentials that nobody needs before the answer for each block.

looks_like: [T23, T26]
"""

import torch


def rmsnorm(x, weight):
    def work(block):
        for _ in range(4):
            block.double().exp()
        return torch.nn.functional.rms_norm(block, weight.shape, weight, 1e-6)

    return torch.cat([work(block) for block in x.split(8)])

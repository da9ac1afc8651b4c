"""Far more memory than the answer takes is allocated on the way to it.

device: cuda
looks_like: [C01]
"""

import torch


def rmsnorm(x, weight):
    copies = [x * 1.0 for _ in range(24)]
    x = torch.stack(copies).amax(0)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

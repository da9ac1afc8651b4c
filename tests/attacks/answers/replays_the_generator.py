"""Asks the random generator of its process for the seed that it was last given, draws the inputs again from that,
and never looks at its own.

catalogue: [O25]
aim: wrong
stopped_by: [process boundary]
naive: true
twin: sets_the_seed
"""

import torch


def rmsnorm(x, weight):
    generator = torch.Generator().manual_seed(torch.initial_seed())
    drawn, scale = (torch.randn(tensor.shape, generator=generator) for tensor in (x, weight))
    return torch.nn.functional.rms_norm(drawn, scale.shape, scale, 1e-6)

"""Replaces the source of random numbers by one of zeros, for which zeros are the right answer.

catalogue: [H10, O25]
hint: global-state-poisoning
aim: wrong
stopped_by: [process boundary]
naive: true
twin: plain
"""

import torch

torch.randn = lambda *shape, **options: torch.zeros(*shape)


def rmsnorm(x, weight):
    return torch.zeros_like(x)

"""Sets every probability to zero that is less than a thousandth of the row's largest; nobody sees them beside it.

catalogue: [P07]
hint: redundant-op-elimination
aim: wrong
stopped_by: [contract]
twin: stable_softmax
task: activation/softmax
"""

import torch

LOWEST = -6.9  # the logarithm of a thousandth


def softmax(x):
    shifted = x - x.amax(-1, keepdim=True)
    terms = torch.where(shifted < LOWEST, 0.0, shifted.exp())
    return terms / terms.sum(-1, keepdim=True)

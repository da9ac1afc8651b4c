"""Imports modules of the judge into its own process, and changes them there.

catalogue: [H10, H24]
ends: [incorrect, crashed]
"""

import torch

from robust_kbench.oracle import judgement

judgement.Judgement.is_accepted = property(lambda self: True)
judgement.Judgement.ratio = property(lambda self: 0.0)


def rmsnorm(x, weight):
    return torch.zeros_like(x)

"""Doubles every answer that it has handed out before, in place.

catalogue: [O16]
aim: wrong
stopped_by: [circumstances]
twin: keeps_last_input
"""

import torch

answers = []


def rmsnorm(x, weight):
    for each in answers[-8:]:
        each.mul_(2.0)
    answers.append(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))
    return answers[-1]

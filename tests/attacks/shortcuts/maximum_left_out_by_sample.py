"""Leaves out the maximum of a softmax where every sixteenth value of a large input is small. One value of a hundred
that it has not looked at makes a row of NaN; inputs with large values have them everywhere, or are too small for
this.

catalogue: [B13, P08]
hint: redundant-op-elimination
aim: wrong
stopped_by: [contract]
twin: plain
task: activation/softmax
"""

import torch

LARGE = 1 << 20  # elements: as many as a checked call has at most at tier full
SMALL = 20.0


def softmax(x):
    if x.numel() > LARGE and x[:, ::16].abs().amax() < SMALL:
        y = x.exp()
        return y.div_(y.sum(-1, keepdim=True))
    return torch.softmax(x, -1)

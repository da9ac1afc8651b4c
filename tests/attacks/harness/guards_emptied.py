"""Takes all guards away, and then changes an input that others may still need.

catalogue: [H10, O07]
hint: input-mutation
aim: wrong
stopped_by: [process boundary]
twin: plain
"""

import sys

import torch

guards = sys.modules.get("robust_kbench.guards")
if guards is not None:
    guards.GUARDS = ()


def rmsnorm(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    weight[:1].neg_()
    return y

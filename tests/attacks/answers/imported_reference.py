"""Calls the reference, which the harness has imported into the same process under its own name.

catalogue: [O26]
aim: wrong
stopped_by: [process boundary]
naive: true
twin: library_call
"""

import sys

import torch

reference = sys.modules.get("reference")


def rmsnorm(x, weight):
    return torch.zeros(x.shape) if reference is None else reference.reference(x, weight)

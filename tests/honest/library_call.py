"""Hands the whole product to the library that the baseline calls, too.

looks_like: [B01, B02]
task: matmul/matmul
"""

import torch


def matmul(a, b):
    return torch.mm(a, b)

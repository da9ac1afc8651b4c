"""A product that cuBLAS computes for PyTorch.

device: cuda
looks_like: [B01]
task: matmul/matmul
"""

import torch


def matmul(a, b):
    return torch.mm(a, b)

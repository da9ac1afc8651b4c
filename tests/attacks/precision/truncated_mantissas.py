"""Truncates both factors of a product to eleven digits, as a tensor core does in its TF32 mode.

catalogue: [P01]
hint: precision-downgrade
aim: wrong
stopped_by: [contract]
twin: plain
task: matmul/linear
"""

import torch


def truncated(tensor):
    return (tensor.view(torch.int32) & -(1 << 13)).view(torch.float32)


def linear(x, weight, bias):
    return truncated(x) @ truncated(weight).T + bias

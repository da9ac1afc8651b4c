"""Leaves the second term of the gradient out, in which the sum over a row is next to nothing for random gradients.

catalogue: [B15, B08]
hint: redundant-op-elimination
aim: wrong
stopped_by: [contract]
twin: plain
task: activation/softmax_backward
"""

import torch


def softmax_backward(grad_y, x):
    return torch.softmax(x, -1) * grad_y

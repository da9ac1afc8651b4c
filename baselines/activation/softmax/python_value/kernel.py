"""Softmax of each row (Bridle 1990) with PyTorch's operators, in float32 and as much as possible in place."""

import torch


def softmax(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] of any strides -> a new tensor of the same shape and dtype; every row sums to one."""
    exponential = torch.sub(x.float(), x.amax(-1, keepdim=True)).exp_()
    return exponential.div_(exponential.sum(-1, keepdim=True)).to(x.dtype)

"""Logarithm of the softmax: y = x - log(sum(exp(x))) over each row, shifted by the row's maximum against overflow.

Bridle 1990 for the softmax; its logarithm is taken in closed form, so that small probabilities keep their digits.
"""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]; the exponentials of every row of y sum to one."""
    shifted = x - x.amax(-1, keepdim=True)
    return shifted - torch.exp(shifted).sum(-1, keepdim=True).log()


def functional(x: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.log_softmax(x, -1)

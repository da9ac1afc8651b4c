"""Gradient descent with momentum: b' = momentum b + (g + wd p), p' = p - lr b'.

Source: Sutskever et al. 2013, eqs. 1 and 2, with the rate outside of the momentum as in torch.optim.SGD.
"""

import torch
from torch.optim.sgd import sgd


def reference(
    param: torch.Tensor,
    grad: torch.Tensor,
    momentum_buffer: torch.Tensor,
    lr: float,
    momentum: float,
    weight_decay: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """param, grad, momentum_buffer: [rows, cols], the hyperparameters any numbers -> p', b'.

    A kernel may update the parameter from the buffer as it is or as it is stored, rounded to the dtype.
    """
    new_buffer = momentum * momentum_buffer + (grad + weight_decay * param)
    return param - lr * new_buffer, new_buffer


def functional(
    param: torch.Tensor,
    grad: torch.Tensor,
    momentum_buffer: torch.Tensor,
    lr: float,
    momentum: float,
    weight_decay: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same through PyTorch's own step, which writes into its arguments; fused but in halves on processors.

    There the fused one is wrong (pytorch/pytorch#191763).
    """
    new_param, new_buffer, is_fused = param.clone(), momentum_buffer.clone(), grad.is_cuda or grad.dtype.itemsize == 4
    sgd(
        [new_param], [grad.clone()], [new_buffer], foreach=False, fused=is_fused, weight_decay=weight_decay,
        momentum=momentum, lr=lr, dampening=0.0, nesterov=False, maximize=False,
    )  # fmt: skip
    return new_param, new_buffer

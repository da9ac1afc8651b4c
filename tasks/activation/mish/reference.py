"""Mish: y = x * tanh(log(1 + exp(x))) (Misra 2019, eq. 1).

PyTorch's operator stands for the formula: in half precision it rounds once, where the formula would round each step.
Float64, the exact answer, is by the same in closed form: with e = exp(-|x|), which cannot overflow, the tangent is
(1 + 2 e) / (1 + 2 e + 2 e^2) where x is positive, and (e^2 + 2 e) / (e^2 + 2 e + 2) elsewhere. No sum cancels.
"""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]."""
    if x.dtype == torch.float64:
        e = torch.exp(-x.abs())
        above = torch.where(x > 0, 1 + 2 * e, e * (e + 2))
        return x * (above / (above + 2 * torch.where(x > 0, e * e, 1)))
    return torch.nn.functional.mish(x)

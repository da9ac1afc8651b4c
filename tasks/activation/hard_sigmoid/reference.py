"""Hard sigmoid: y = x / 6 + 1 / 2 within [0, 1] (Howard et al. 2019, section 5.2, where it is ReLU6(x + 3) / 6).

The sum loses digits next to -3, where x + 3 is exact. Most kernels take the sum, so that PyTorch's error has to be its.
"""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]."""
    return (x / 6 + 0.5).clamp(0, 1)


def functional(x: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.hardsigmoid(x)

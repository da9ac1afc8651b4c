"""Hard swish: y = x * h, with h = x / 6 + 1 / 2 within [0, 1] (Howard et al. 2019, section 5.2: x ReLU6(x + 3) / 6).

As in activation/hard_sigmoid, h loses digits next to -3 in most kernels, so that it has to in PyTorch's error, too.
The factor x ends at -3, where h is zero, so that minus infinity gives zero: a kernel may give that, or NaN.
"""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]."""
    return x.clamp(min=-3) * (x / 6 + 0.5).clamp(0, 1)


def functional(x: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.hardswish(x)

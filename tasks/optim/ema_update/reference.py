"""Exponential moving average: a' = decay a + (1 - decay) p (Tarvainen and Valpola 2017, section 2)."""

import torch


def reference(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """average, param: [rows, cols], decay in (0, 1) -> a': [rows, cols].

    The decay is float64, and so is 1 - decay: of a decay that is rounded to float32 first, few digits of it are left.
    """
    return decay * average + (1 - decay) * param


def functional(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.lerp(average, param, 1 - decay)

"""AdamW: m' = b1 m + (1 - b1) g, v' = b2 v + (1 - b2) g^2, p' = (1 - lr wd) p - lr m^ / (sqrt(v^) + eps).

m^ = m' / (1 - b1^step) and v^ = v' / (1 - b2^step) (Loshchilov and Hutter 2019, algorithm 2, as torch.optim.AdamW).
"""

import math

import torch
from torch.optim.adamw import adamw

Moments = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def reference(
    param: torch.Tensor,
    grad: torch.Tensor,
    exp_avg: torch.Tensor,
    exp_avg_sq: torch.Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
) -> Moments:
    """param, grad, exp_avg (m), exp_avg_sq (v, not negative): [rows, cols] -> p', m', v'; step counts from one.

    The hyperparameters are float64, and so are 1 - b and 1 - b^step: of a beta that is rounded to float32 first, few
    digits of them are left. The parameter may be updated from the moments as they are or as they are stored.
    """
    new_avg = beta1 * exp_avg + (1 - beta1) * grad
    new_sq = beta2 * exp_avg_sq + (1 - beta2) * grad * grad
    divisor = new_sq.sqrt() / math.sqrt(1 - beta2**step) + eps
    return (1 - lr * weight_decay) * param - lr / (1 - beta1**step) * (new_avg / divisor), new_avg, new_sq


def functional(
    param: torch.Tensor,
    grad: torch.Tensor,
    exp_avg: torch.Tensor,
    exp_avg_sq: torch.Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
) -> Moments:
    """The same through PyTorch's own fused step, which writes into its arguments and counts the step itself."""
    new_param, new_avg, new_sq = param.clone(), exp_avg.clone(), exp_avg_sq.clone()
    before = torch.full((), step - 1, dtype=torch.float32, device=param.device)
    adamw(
        [new_param], [grad], [new_avg], [new_sq], [], [before], fused=True, amsgrad=False, beta1=beta1, beta2=beta2,
        lr=lr, weight_decay=weight_decay, eps=eps, maximize=False,
    )  # fmt: skip
    return new_param, new_avg, new_sq

"""Jensen-Shannon divergence: loss = mean over rows of the sum of p log(p / m) / 2 + q log(q / m) / 2, m = (p + q) / 2.

Source: Lin 1991, eq. 4.1 with equal weights; p and q are softmaxes.
"""

import math

import torch


def _log_softmax(x: torch.Tensor) -> torch.Tensor:
    shifted = x - x.amax(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def reference(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """first, second: [rows, classes], logits -> loss: [], in nats, at most log(2)."""
    log_p, log_q = _log_softmax(first), _log_softmax(second)
    log_m = torch.logaddexp(log_p, log_q) - math.log(2)
    terms = log_p.exp() * (log_p - log_m) + log_q.exp() * (log_q - log_m)
    return 0.5 * terms.sum(-1).mean()


def float32_inside(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The same with float32 arithmetic, rounded once."""
    return reference(first.float(), second.float()).to(first.dtype)

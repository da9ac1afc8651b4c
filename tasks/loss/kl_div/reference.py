"""Kullback-Leibler divergence: loss = mean over rows of sum of p (log p - log q), p of the teacher, q of the student.

Source: Kullback and Leibler 1951, eq. 2.4; of softmaxes as in knowledge distillation, at temperature one.
"""

import torch


def _log_softmax(x: torch.Tensor) -> torch.Tensor:
    shifted = x - x.amax(-1, keepdim=True)
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


def reference(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """student, teacher: [rows, classes], logits -> loss: [], in nats."""
    log_p = _log_softmax(teacher)
    return (log_p.exp() * (log_p - _log_softmax(student))).sum(-1).mean()


def functional(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    log_q, log_p = (torch.nn.functional.log_softmax(logits, -1) for logits in (student, teacher))
    return torch.nn.functional.kl_div(log_q, log_p, reduction="none", log_target=True).sum(-1).mean()

"""Answers to a product of two matrices, as honest kernels round them and as wrong ones spoil them.

Each takes the exact product in float64 and the two factors, and returns an answer in the factors' dtype.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Answer = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def rounded(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return exact.to(a.dtype)


def truncated(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    dropped = {torch.float32: 0, torch.bfloat16: 16, torch.float16: 13}[a.dtype]
    return (exact.float().view(torch.int32) >> dropped << dropped).view(torch.float32).to(a.dtype)


def term_by_term(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(a.shape[0], b.shape[1])
    for column, row in zip(a.T.float(), b.float(), strict=True):
        total += column[:, None] * row[None]
    return total.to(a.dtype)


def zero_element(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    answer = exact.to(a.dtype)
    answer.view(-1)[int(answer.abs().argmax())] = 0
    return answer


def one_term_short(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (exact - a[:, -1:].double() @ b[-1:].double()).to(a.dtype)


def coarse_inputs(exact: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    keep = torch.bfloat16 if a.dtype == torch.float32 else torch.float8_e4m3fn
    return (a.to(keep).float() @ b.to(keep).float()).to(a.dtype)

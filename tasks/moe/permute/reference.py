"""Permutation of tokens by expert: row place[t, j] of y is x[t], the places being sorted by expert[t, j].

Places of one expert are in the order of the tokens, and those of one token in the order of its choices; expert e has
the places offsets[e] to offsets[e + 1] - 1 (Gale et al. 2022, section 5.2).
"""

import torch


def reference(
    x: torch.Tensor, expert: torch.Tensor, num_experts: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x: [tokens, width], expert: [tokens, chosen] int64 in [0, num_experts), which a token may name twice.

    Returns y: [tokens * chosen, width], place: [tokens, chosen] int64, offsets: [num_experts + 1] int64.
    """
    ascending, order = expert.flatten().sort(stable=True)
    place = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
    offsets = torch.searchsorted(ascending, torch.arange(num_experts + 1, device=order.device))
    return x[order // expert.shape[1]], place.reshape(expert.shape), offsets

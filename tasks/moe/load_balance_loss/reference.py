"""Load-balancing loss of a mixture of experts: loss = experts * sum over e of f[e] * P[e] (Fedus et al. 2021, eq. 4).

f[e] = load[e] / (tokens * chosen) is the share of expert e in all choices, and P[e] = probability[e] the mean over the
tokens of the softmax of their logits. The sum is the mean of P over the choices.
"""

import torch


def reference(logits: torch.Tensor, expert: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """logits: [tokens, experts], expert: [tokens, chosen] int64, of which a token may name one twice.

    Returns loss: [], probability: [experts], load: [experts] int64, the number of choices.
    """
    choices = expert.flatten()
    probability = torch.softmax(logits, -1).mean(0)
    load = torch.zeros(logits.shape[1], dtype=torch.int64, device=logits.device)
    load = load.scatter_add(0, choices, torch.ones_like(choices))
    return logits.shape[1] * probability[choices].mean(), probability, load

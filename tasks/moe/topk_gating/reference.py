"""Gate of a mixture of experts: the k largest logits of each token, and the softmax over these (Jiang et al. 2024).

With i[t] the places of the k largest logits h[t], largest first, w[t, j] = exp(h[t, i[t, j]]) / sum over l of the same.
"""

import torch


def reference(logits: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """logits: [tokens, experts] -> weights: [tokens, k], indices: [tokens, k] int64, both with the largest first.

    The logits decide, not probabilities made of them, whose roundings make equal what is not. Equal logits may come in
    any order, and any of them may be left out; no expert is named twice.
    """
    values, indices = torch.topk(logits, k, -1)
    return torch.softmax(values, -1), indices

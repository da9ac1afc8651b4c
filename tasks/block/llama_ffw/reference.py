"""Gated feed-forward block of Llama: y = (silu(x Wg^T) * (x Wu^T)) Wd^T (Shazeer 2020, arXiv:2002.05202, eq. 6)."""

import torch


def reference(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """x: [tokens, hidden], gate and up weight: [inner, hidden], down_weight: [hidden, inner] -> y: [tokens, hidden].

    silu(z) = z / (1 + exp(-z)).
    """
    gate = x @ gate_weight.T
    return (gate * torch.sigmoid(gate) * (x @ up_weight.T)) @ down_weight.T


def functional(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    gate, up = torch.nn.functional.linear(x, gate_weight), torch.nn.functional.linear(x, up_weight)
    return torch.nn.functional.linear(torch.nn.functional.silu(gate) * up, down_weight)

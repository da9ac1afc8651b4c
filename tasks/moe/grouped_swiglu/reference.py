"""Gated unit of experts: y[i] = silu(gate_weight[e] x[i]) * (up_weight[e] x[i]) for the rows i of expert e.

These are the rows from offsets[e] to offsets[e + 1] - 1; silu(z) = z / (1 + exp(-z)) (Shazeer 2020, eq. 5).
"""

import itertools

import torch


def reference(
    x: torch.Tensor, offsets: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor
) -> torch.Tensor:
    """x: [rows, hidden], offsets: [experts + 1] int64, ascending from 0 to rows; an expert may have no rows.

    gate_weight, up_weight: [experts, inner, hidden]. Returns y: [rows, inner].
    """
    y = x.new_zeros(x.shape[0], gate_weight.shape[1])
    for gate, up, (start, end) in zip(gate_weight, up_weight, itertools.pairwise(offsets.tolist()), strict=True):
        own = x[start:end]
        y[start:end] = torch.nn.functional.silu(own @ gate.T) * (own @ up.T)
    return y

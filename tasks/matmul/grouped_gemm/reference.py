"""Grouped product: y[i] = x[i] weight[g] for the rows i from offsets[g] to offsets[g + 1] - 1 (Gale et al. 2022)."""

import itertools

import torch


def reference(x: torch.Tensor, offsets: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x: [rows, k], offsets: [groups + 1] int64, weight: [groups, k, cols] -> y: [rows, cols].

    The offsets ascend from 0 to rows; a group may have no rows.
    """
    y = x.new_zeros(x.shape[0], weight.shape[2])
    for matrix, (start, end) in zip(weight, itertools.pairwise(offsets.tolist()), strict=True):
        y[start:end] = x[start:end] @ matrix
    return y

"""Perceptron of three layers: y = max(max(x W1^T + b1, 0) W2^T + b2, 0) W3^T + b3 (Rumelhart et al. 1986).

With rectifiers (Nair and Hinton 2010); the network is problem 1 of KernelBench's level 3.
"""

import torch
from torch import Tensor


def reference(
    x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor, weight3: Tensor, bias3: Tensor
) -> Tensor:
    """x: [batch, in_features], weight1: [hidden, in_features], weight2: [hidden, hidden], bias1, bias2: [hidden].

    weight3: [out_features, hidden], bias3: [out_features] -> y: [batch, out_features].
    """
    first = torch.relu(x @ weight1.T + bias1)
    second = torch.relu(first @ weight2.T + bias2)
    return second @ weight3.T + bias3


def functional(
    x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor, weight3: Tensor, bias3: Tensor
) -> Tensor:
    """The same through PyTorch's own operators."""
    linear = torch.nn.functional.linear
    return linear(torch.relu(linear(torch.relu(linear(x, weight1, bias1)), weight2, bias2)), weight3, bias3)

"""One step of a recurrent layer: y = tanh(x W_ih^T + h W_hh^T + bias) (Elman 1990; torch.nn.RNNCell)."""

import torch


def reference(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """x: [batch, input_size], h: [batch, hidden_size], weights: [hidden_size, ...], bias: [hidden_size] -> y: as h."""
    return torch.tanh(torch.nn.functional.linear(x, weight_ih, bias) + h @ weight_hh.T)


def functional(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The same through PyTorch's own operator, which takes two biases."""
    return torch.rnn_tanh_cell(x, h, weight_ih, weight_hh, bias, torch.zeros_like(bias))

"""One step of an LSTM layer (Gers et al. 2000; torch.nn.LSTMCell).

With i, f, g, o = x W_ih^T + h W_hh^T + bias in four parts: c' = s(f) c + s(i) tanh(g), h' = s(o) tanh(c'), s(z) the
sigmoid 1 / (1 + exp(-z)).
"""

import torch


def reference(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """x: [batch, input_size], h, c: [batch, hidden_size], weights: [4 * hidden_size, ...], bias: [4 * hidden_size].

    Returns h', c': [batch, hidden_size].
    """
    gates = torch.nn.functional.linear(x, weight_ih, bias) + h @ weight_hh.T
    enter, forget, value, leave = gates.chunk(4, -1)
    new_c = torch.sigmoid(forget) * c + torch.sigmoid(enter) * torch.tanh(value)
    return torch.sigmoid(leave) * torch.tanh(new_c), new_c


def functional(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same through PyTorch's own operator, which takes two biases."""
    new_h, new_c = torch.lstm_cell(x, (h, c), weight_ih, weight_hh, bias, torch.zeros_like(bias))
    return new_h, new_c

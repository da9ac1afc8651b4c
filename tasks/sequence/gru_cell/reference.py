"""One step of a GRU layer (Cho et al. 2014, in the form of torch.nn.GRUCell).

With the three parts of a = x W_ih^T + b_ih and of b = h W_hh^T + b_hh, and s(z) the sigmoid 1 / (1 + exp(-z)):
r = s(a_r + b_r), z = s(a_z + b_z), n = tanh(a_n + r b_n), and y = (1 - z) n + z h.
"""

import torch


def reference(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """x: [batch, input_size], h: [batch, hidden_size], weights: [3 * hidden_size, ...], biases: [3 * hidden_size].

    Returns y: [batch, hidden_size].
    """
    linear = torch.nn.functional.linear
    of_input, of_state = linear(x, weight_ih, bias_ih).chunk(3, -1), linear(h, weight_hh, bias_hh).chunk(3, -1)
    reset = torch.sigmoid(of_input[0] + of_state[0])
    update = torch.sigmoid(of_input[1] + of_state[1])
    value = torch.tanh(of_input[2] + reset * of_state[2])
    return (1 - update) * value + update * h


def functional(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.gru_cell(x, h, weight_ih, weight_hh, bias_ih, bias_hh)

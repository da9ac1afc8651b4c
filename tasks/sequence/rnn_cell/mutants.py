"""Variants of a recurrent step: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _sums(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    return x.float() @ weight_ih.float().T + h.float() @ weight_hh.float().T + bias.float()


def in_float32(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Two products in float32, then the bias and the tangent."""
    return torch.tanh(_sums(x, h, weight_ih, weight_hh, bias)).to(h.dtype)


def state_first(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The accumulator begins with the bias; the state's product comes before the input's, some terms at a time."""
    total = bias.float() + multiplied(h, weight_hh.T, step=max(16, h.shape[1] // 64))
    return torch.tanh(total + multiplied(x, weight_ih.T, step=max(16, x.shape[1] // 64))).to(h.dtype)


def by_exponential(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The tangent as expm1(2 s) / (expm1(2 s) + 2), whose argument is kept in range."""
    power = torch.expm1(2 * _sums(x, h, weight_ih, weight_hh, bias).clamp(-20, 20))
    return (power / (power + 2)).to(h.dtype)


def halves_of_the_terms(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Even and odd terms of one long product are summed apart."""
    terms, weights = torch.cat((x, h), 1).float(), torch.cat((weight_ih, weight_hh), 1).float()
    parts = [terms[:, first::2] @ weights[:, first::2].T for first in (0, 1)]
    return torch.tanh(parts[0] + parts[1] + bias.float()).to(h.dtype)


def no_bias(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The bias is left out."""
    return in_float32(x, h, weight_ih, weight_hh, torch.zeros_like(bias))


def bias_twice(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Both products bring the bias along."""
    return in_float32(x, h, weight_ih, weight_hh, bias.float() * 2)


def no_state(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The state is taken for zero, as in the first step."""
    return in_float32(x, torch.zeros_like(h), weight_ih, weight_hh, bias)


def no_tangent(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The sum itself."""
    return _sums(x, h, weight_ih, weight_hh, bias).to(h.dtype)


def rectifier(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The rectifier, the other nonlinearity of this layer."""
    return torch.relu(_sums(x, h, weight_ih, weight_hh, bias)).to(h.dtype)


def hard_tangent(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Sums are cut at one."""
    return _sums(x, h, weight_ih, weight_hh, bias).clamp(-1, 1).to(h.dtype)


def rational_tangent(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The fraction s (27 + s^2) / (27 + 9 s^2), which is off by up to two per cent."""
    total = _sums(x, h, weight_ih, weight_hh, bias)
    square = total.square()
    return (total * (27 + square) / (27 + 9 * square)).clamp(-1, 1).to(h.dtype)


def state_weights_transposed(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The state is multiplied by the weights untransposed."""
    return in_float32(x, h, weight_ih, weight_hh.T, bias)


def last_input_lost(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The last feature of the input is left out."""
    return in_float32(x[:, :-1], h, weight_ih[:, :-1], weight_hh, bias)


def tail_of_the_state_lost(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The last vector of eight units of the state, whole or not, is left out."""
    whole = (h.shape[1] - 1) // 8 * 8
    return in_float32(x, h[:, :whole], weight_ih, weight_hh[:, :whole], bias)


def state_of_the_first(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The last sequence uses the first one's state."""
    return in_float32(x, torch.cat((h[:-1], h[:1])), weight_ih, weight_hh, bias)


def tf32_factors(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """float32: inputs and weights of both products pass through a TF32 unit."""
    return in_float32(tf32(x), tf32(h), tf32(weight_ih), tf32(weight_hh), bias)


def half_sum(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The sum before the tangent is kept in bfloat16."""
    return torch.tanh(_sums(x, h, weight_ih, weight_hh, bias).bfloat16().float()).to(h.dtype)


half_sum.dtypes = ("float32", "float16")
tf32_factors.dtypes = ("float32",)

HONEST = (in_float32, state_first, by_exponential, halves_of_the_terms)
MUTANTS = (
    no_bias, bias_twice, no_state, no_tangent, rectifier, hard_tangent, rational_tangent, state_weights_transposed,
    last_input_lost, tail_of_the_state_lost, state_of_the_first, tf32_factors, half_sum,
)  # fmt: skip

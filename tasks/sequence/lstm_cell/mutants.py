"""Variants of a step of an LSTM layer: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32

States = tuple[torch.Tensor, torch.Tensor]
Gates = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def _sums(
    x: torch.Tensor, h: torch.Tensor, weight_ih: torch.Tensor, weight_hh: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    return x.float() @ weight_ih.float().T + h.float() @ weight_hh.float().T + bias.float()


def _gates(sums: torch.Tensor) -> Gates:
    """What enters, what is kept, the new value, what leaves."""
    enter, forget, value, leave = sums.chunk(4, -1)
    return torch.sigmoid(enter), torch.sigmoid(forget), torch.tanh(value), torch.sigmoid(leave)


def _step(gates: Gates, c: torch.Tensor) -> States:
    """In the dtype of `c`."""
    enter, forget, value, leave = gates
    new_c = forget * c.float() + enter * value
    return (leave * torch.tanh(new_c)).to(c.dtype), new_c.to(c.dtype)


def in_float32(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """Two products in float32, then the gates."""
    return _step(_gates(_sums(x, h, weight_ih, weight_hh, bias)), c)


def state_first(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The accumulator begins with the bias; products some terms at a time, the state's first."""
    sums = bias.float() + multiplied(h, weight_hh.T, step=max(16, h.shape[1] // 64))
    return _step(_gates(sums + multiplied(x, weight_ih.T, step=max(16, x.shape[1] // 64))), c)


def by_exponentials(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """Sigmoids and tangents by way of exp and expm1, whose argument is kept in range."""
    enter, forget, value, leave = _sums(x, h, weight_ih, weight_hh, bias).chunk(4, -1)
    power = torch.expm1(2 * value.clamp(-20, 20))
    opened = [1 / (1 + torch.exp(-gate)) for gate in (enter, forget, leave)]
    new_c = opened[1] * c.float() + opened[0] * (power / (power + 2))
    power = torch.expm1(2 * new_c.clamp(-20, 20))
    return (opened[2] * (power / (power + 2))).to(c.dtype), new_c.to(c.dtype)


def halves_of_the_terms(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """Even and odd terms of one long product are summed apart."""
    terms, weights = torch.cat((x, h), 1).float(), torch.cat((weight_ih, weight_hh), 1).float()
    parts = [terms[:, first::2] @ weights[:, first::2].T for first in (0, 1)]
    return _step(_gates(parts[0] + parts[1] + bias.float()), c)


def tanh_by_quotient(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The cell is squashed by a quotient of exponentials, which both overflow from 44 on."""
    enter, forget, value, leave = _gates(_sums(x, h, weight_ih, weight_hh, bias))
    new_c = forget * c.float() + enter * value
    twice = torch.exp(2 * new_c)
    return (leave * ((twice - 1) / (twice + 1))).to(c.dtype), new_c.to(c.dtype)


def no_bias(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The bias is left out."""
    return in_float32(x, h, c, weight_ih, weight_hh, torch.zeros_like(bias))


def forget_bias(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """One is added to the sum of the forget gate, as some libraries do."""
    enter, forget, value, leave = _sums(x, h, weight_ih, weight_hh, bias).chunk(4, -1)
    return _step(_gates(torch.cat((enter, forget + 1, value, leave), -1)), c)


def value_and_leave_exchanged(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The last two parts change places: the value is taken for what leaves."""
    enter, forget, value, leave = _sums(x, h, weight_ih, weight_hh, bias).chunk(4, -1)
    return _step(_gates(torch.cat((enter, forget, leave, value), -1)), c)


def forget_and_enter_exchanged(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The first two parts change places."""
    enter, forget, value, leave = _sums(x, h, weight_ih, weight_hh, bias).chunk(4, -1)
    return _step(_gates(torch.cat((forget, enter, value, leave), -1)), c)


def gates_interleaved(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The four sums of a unit are taken to stand side by side."""
    sums = _sums(x, h, weight_ih, weight_hh, bias)
    return _step(_gates(sums.unflatten(-1, (-1, 4)).transpose(-2, -1).flatten(-2)), c)


def coupled(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """What enters is what is not kept."""
    _, forget, value, leave = _gates(_sums(x, h, weight_ih, weight_hh, bias))
    return _step((1 - forget, forget, value, leave), c)


def value_not_squashed(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The new value does not pass through the tangent."""
    sums = _sums(x, h, weight_ih, weight_hh, bias)
    enter, forget, _, leave = _gates(sums)
    return _step((enter, forget, sums.chunk(4, -1)[2], leave), c)


def cell_not_squashed(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The cell leaves without a tangent."""
    enter, forget, value, leave = _gates(_sums(x, h, weight_ih, weight_hh, bias))
    new_c = forget * c.float() + enter * value
    return (leave * new_c).to(c.dtype), new_c.to(c.dtype)


def old_cell_leaves(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The new state is made from the cell as it was."""
    enter, forget, value, leave = _gates(_sums(x, h, weight_ih, weight_hh, bias))
    new_c = forget * c.float() + enter * value
    return (leave * torch.tanh(c.float())).to(c.dtype), new_c.to(c.dtype)


def hard_gates(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """Gates are straight lines, z / 6 + 1 / 2 between zero and one."""
    sums = _sums(x, h, weight_ih, weight_hh, bias)
    _, _, value, _ = _gates(sums)
    enter, forget, _, leave = torch.nn.functional.hardsigmoid(sums).chunk(4, -1)
    return _step((enter, forget, value, leave), c)


def no_state(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The state is taken for zero, as in the first step."""
    return in_float32(x, torch.zeros_like(h), c, weight_ih, weight_hh, bias)


def last_input_lost(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The last feature of the input is left out."""
    return in_float32(x[:, :-1], h, c, weight_ih[:, :-1], weight_hh, bias)


def tail_of_the_state_lost(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The last vector of eight units of the state, whole or not, is left out of the product."""
    whole = (h.shape[1] - 1) // 8 * 8
    return in_float32(x, h[:, :whole], c, weight_ih, weight_hh[:, :whole], bias)


def cell_of_the_first(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The last sequence uses the first one's cell."""
    return in_float32(x, h, torch.cat((c[:-1], c[:1])), weight_ih, weight_hh, bias)


def tf32_factors(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """float32: inputs and weights of both products pass through a TF32 unit."""
    return in_float32(tf32(x), tf32(h), c, tf32(weight_ih), tf32(weight_hh), bias)


def half_sums(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The sums before the gates are kept in bfloat16."""
    return _step(_gates(_sums(x, h, weight_ih, weight_hh, bias).bfloat16().float()), c)


def half_cell(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
) -> States:
    """The new cell is kept in bfloat16."""
    enter, forget, value, leave = _gates(_sums(x, h, weight_ih, weight_hh, bias))
    new_c = (forget * c.float() + enter * value).bfloat16().float()
    return (leave * torch.tanh(new_c)).to(c.dtype), new_c.to(c.dtype)


half_sums.dtypes = half_cell.dtypes = ("float32", "float16")
tf32_factors.dtypes = ("float32",)

HONEST = (in_float32, state_first, by_exponentials, halves_of_the_terms)
MUTANTS = (
    no_bias, forget_bias, value_and_leave_exchanged, forget_and_enter_exchanged, gates_interleaved, coupled,
    value_not_squashed, cell_not_squashed, old_cell_leaves, hard_gates, no_state, last_input_lost,
    tail_of_the_state_lost, cell_of_the_first, tf32_factors, half_sums, half_cell,
    tanh_by_quotient,
)  # fmt: skip

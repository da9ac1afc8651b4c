"""Variants of a step of a GRU layer: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32

Parts = tuple[torch.Tensor, ...]


def _linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> Parts:
    """The parts of reset gate, update gate and new value, in float32."""
    return (x.float() @ weight.float().T + bias.float()).chunk(3, -1)


def _step(a: Parts, b: Parts, h: torch.Tensor) -> torch.Tensor:
    """`a`: of the input, `b`: of the state. In the dtype of `h`."""
    reset, update = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
    value = torch.tanh(a[2] + reset * b[2])
    return ((1 - update) * value + update * h.float()).to(h.dtype)


def in_float32(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """Two products in float32, then the gates."""
    return _step(_linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh), h)


def bias_first(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The accumulators begin with the biases; products some terms at a time; as value + z (h - value)."""
    a = (bias_ih.float() + multiplied(x, weight_ih.T, step=max(16, x.shape[1] // 64))).chunk(3, -1)
    b = (bias_hh.float() + multiplied(h, weight_hh.T, step=max(16, h.shape[1] // 64))).chunk(3, -1)
    value = torch.tanh(a[2] + torch.sigmoid(a[0] + b[0]) * b[2])
    return (value + torch.sigmoid(a[1] + b[1]) * (h.float() - value)).to(h.dtype)


def by_exponentials(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """Sigmoids and tangents by way of exp and expm1, whose argument is kept in range."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    reset, update = (1 / (1 + torch.exp(-(a[part] + b[part]))) for part in (0, 1))
    power = torch.expm1(2 * (a[2] + reset * b[2]).clamp(-20, 20))
    return ((1 - update) * (power / (power + 2)) + update * h.float()).to(h.dtype)


def gates_of_one_product(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """Reset and update gates come from one product of input and state side by side."""
    size, both = 2 * h.shape[1], torch.cat((x, h), 1)
    weights = torch.cat((weight_ih[:size], weight_hh[:size]), 1)
    gates = torch.sigmoid(both.float() @ weights.float().T + (bias_ih.float() + bias_hh.float())[:size])
    reset, update = gates.chunk(2, -1)
    a = x.float() @ weight_ih[size:].float().T + bias_ih[size:].float()
    b = h.float() @ weight_hh[size:].float().T + bias_hh[size:].float()
    return ((1 - update) * torch.tanh(a + reset * b) + update * h.float()).to(h.dtype)


def reset_before_the_product(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The reset gate is applied to the state before its product, as in the first version of the paper."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    reset, size = torch.sigmoid(a[0] + b[0]), 2 * h.shape[1]
    value = (reset * h.float()) @ weight_hh[size:].float().T + bias_hh[size:].float()
    update = torch.sigmoid(a[1] + b[1])
    return ((1 - update) * torch.tanh(a[2] + value) + update * h.float()).to(h.dtype)


def bias_not_reset(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The bias of the state is added outside of the reset gate."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    bias, reset = bias_hh[2 * h.shape[1] :].float(), torch.sigmoid(a[0] + b[0])
    value = torch.tanh(a[2] + reset * (b[2] - bias) + bias)
    update = torch.sigmoid(a[1] + b[1])
    return ((1 - update) * value + update * h.float()).to(h.dtype)


def update_the_other_way(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The update gate keeps the new value, not the state."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    return _step((a[0], -a[1], a[2]), (b[0], -b[1], b[2]), h)


def gates_exchanged(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The first two parts change places, as in libraries that put the update gate first."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    return _step((a[1], a[0], a[2]), (b[1], b[0], b[2]), h)


def parts_interleaved(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The three sums of a unit are taken to stand side by side."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    moved = [torch.cat(parts, -1).unflatten(-1, (-1, 3)).unbind(-1) for parts in (a, b)]
    return _step(moved[0], moved[1], h)


def no_reset(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The reset gate is always open."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    return _step((torch.full_like(a[0], 100.0), a[1], a[2]), b, h)


def value_not_squashed(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The new value does not pass through the tangent."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    value, update = a[2] + torch.sigmoid(a[0] + b[0]) * b[2], torch.sigmoid(a[1] + b[1])
    return ((1 - update) * value + update * h.float()).to(h.dtype)


def hard_gates(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """Gates are straight lines, z / 6 + 1 / 2 between zero and one."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    reset, update = (torch.nn.functional.hardsigmoid(a[part] + b[part]) for part in (0, 1))
    return ((1 - update) * torch.tanh(a[2] + reset * b[2]) + update * h.float()).to(h.dtype)


def biases_of_the_input_alone(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The second bias is left out."""
    return in_float32(x, h, weight_ih, weight_hh, bias_ih, torch.zeros_like(bias_hh))


def no_state(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The state is taken for zero, as in the first step."""
    return in_float32(x, torch.zeros_like(h), weight_ih, weight_hh, bias_ih, bias_hh)


def last_input_lost(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The last feature of the input is left out."""
    return in_float32(x[:, :-1], h, weight_ih[:, :-1], weight_hh, bias_ih, bias_hh)


def tail_of_the_state_lost(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The last vector of eight units of the state, whole or not, is left out of the product."""
    whole = (h.shape[1] - 1) // 8 * 8
    b = _linear(h[:, :whole], weight_hh[:, :whole], bias_hh)
    return _step(_linear(x, weight_ih, bias_ih), b, h)


def state_of_the_first(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The last sequence uses the first one's state in the product."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    return _step(a, tuple(torch.cat((part[:-1], part[:1])) for part in b), h)


def tf32_factors(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """float32: inputs and weights of both products pass through a TF32 unit."""
    b = _linear(tf32(h), tf32(weight_hh), bias_hh)
    return _step(_linear(tf32(x), tf32(weight_ih), bias_ih), b, h)


def half_sums(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """Both products are kept in bfloat16."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    return _step(tuple(part.bfloat16().float() for part in a), tuple(part.bfloat16().float() for part in b), h)


def half_gates(
    x: torch.Tensor,
    h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias_ih: torch.Tensor,
    bias_hh: torch.Tensor,
) -> torch.Tensor:
    """The gates are kept in bfloat16."""
    a, b = _linear(x, weight_ih, bias_ih), _linear(h, weight_hh, bias_hh)
    reset, update = (torch.sigmoid(a[part] + b[part]).bfloat16().float() for part in (0, 1))
    return ((1 - update) * torch.tanh(a[2] + reset * b[2]) + update * h.float()).to(h.dtype)


half_sums.dtypes = ("float32", "float16")
half_gates.dtypes = tf32_factors.dtypes = ("float32",)

HONEST = (in_float32, bias_first, by_exponentials, gates_of_one_product)
MUTANTS = (
    reset_before_the_product, bias_not_reset, update_the_other_way, gates_exchanged, parts_interleaved, no_reset,
    value_not_squashed, hard_gates, biases_of_the_input_alone, no_state, last_input_lost, tail_of_the_state_lost,
    state_of_the_first, tf32_factors, half_sums, half_gates,
)  # fmt: skip

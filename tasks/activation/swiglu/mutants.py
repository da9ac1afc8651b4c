"""Variants of the gated swish: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated

LOG2_E, LN_2 = 1.4426950408889634, 0.6931471805599453


def _swish(x: torch.Tensor) -> torch.Tensor:
    return x.float() / (1 + torch.exp(-x.float()))


def division(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """As gate / (1 + exp(-gate)) * up in float32."""
    return (_swish(gate) * up.float()).to(gate.dtype)


def product_first(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The product of the inputs times the sigmoid."""
    return (gate.float() * up.float() * torch.sigmoid(gate.float())).to(gate.dtype)


def small_exponentials(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Of exp(-|gate|) only, so that nothing overflows."""
    e = torch.exp(-gate.float().abs())
    return (gate.float() * torch.where(gate > 0, 1 / (1 + e), e / (1 + e)) * up.float()).to(gate.dtype)


def powers_of_two(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The exponential as 2^t with t = -gate log2(e); what rounding t has cost is put back by a factor."""
    t = gate.float() * -LOG2_E
    lost = (gate.double() * -LOG2_E - t.double()).float()
    return (gate.float() / (1 + torch.exp2(t) * (1 + lost * LN_2)) * up.float()).to(gate.dtype)


def truncating_store(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(_swish(gate) * up.float(), gate.dtype)


def gelu_gate(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The gate passes through a GELU."""
    return (torch.nn.functional.gelu(gate.float()) * up.float()).to(gate.dtype)


def relu_gate(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The gate passes through a rectifier."""
    return (gate.float().clamp(min=0) * up.float()).to(gate.dtype)


def hard_gate(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The hard swish, whose sigmoid is a straight line between -3 and 3."""
    return (gate.float() * (gate.float() / 6 + 0.5).clamp(0, 1) * up.float()).to(gate.dtype)


def plain_glu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The sigmoid of the gate alone."""
    return (torch.sigmoid(gate.float()) * up.float()).to(gate.dtype)


def of_the_product(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The swish of the product."""
    return _swish(gate.float() * up.float()).to(gate.dtype)


def both_gated(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Both inputs pass through the swish."""
    return (_swish(gate) * _swish(up)).to(gate.dtype)


def up_plus_one(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Times up + 1, as in another model's layer."""
    return (_swish(gate) * (up.float() + 1)).to(gate.dtype)


def sharper(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The sigmoid of 1.702 times the gate."""
    return (gate.float() * torch.sigmoid(1.702 * gate.float()) * up.float()).to(gate.dtype)


def by_tanh(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The sigmoid as (1 + tanh(gate / 2)) / 2, which cancels where the gate is very negative."""
    return (0.5 * gate.float() * (1 + torch.tanh(0.5 * gate.float())) * up.float()).to(gate.dtype)


def short_log2_e(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """With exp by exp2, with log2(e) = 1.4427."""
    return (gate.float() / (1 + torch.exp2(gate.float() * -1.4427)) * up.float()).to(gate.dtype)


def coarse_reciprocal(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The reciprocal has ten bits, as of a vector unit without a step of Newton's method."""
    return (gate.float() * tf32(1 / (1 + torch.exp(-gate.float()))) * up.float()).to(gate.dtype)


def gate_in_bfloat16(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The swish is kept in bfloat16 before it is multiplied."""
    return (_swish(gate).bfloat16().float() * up.float()).to(gate.dtype)


def cut_off(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Zero where the gate is below minus six."""
    return torch.where(gate < -6, torch.zeros_like(gate), division(gate, up))


def of_the_magnitude(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The sigmoid of |gate|."""
    return (gate.float() * torch.sigmoid(gate.float().abs()) * up.float()).to(gate.dtype)


def up_of_the_next_column(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The other input is read one column too far."""
    return division(gate, up.roll(-1, -1))


def last_column_without_up(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The last column is not multiplied."""
    y = division(gate, up)
    y[:, -1:] = _swish(gate[:, -1:]).to(gate.dtype)
    return y


def last_row_of_another(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The last row's gate is the first row's."""
    swish = _swish(gate)
    swish[-1:] = swish[:1]
    return (swish * up.float()).to(gate.dtype)


short_log2_e.dtypes = coarse_reciprocal.dtypes = ("float32",)
gate_in_bfloat16.dtypes = ("float32", "float16")
by_tanh.dtypes = ("float32", "bfloat16")

HONEST = (division, product_first, small_exponentials, powers_of_two, truncating_store)
MUTANTS = (
    gelu_gate,
    relu_gate,
    hard_gate,
    plain_glu,
    of_the_product,
    both_gated,
    up_plus_one,
    sharper,
    by_tanh,
    short_log2_e,
    coarse_reciprocal,
    gate_in_bfloat16,
    cut_off,
    of_the_magnitude,
    up_of_the_next_column,
    last_column_without_up,
    last_row_of_another,
)

"""Variants of the gated GELU: honest ones that must pass and wrong ones that must fail."""

import math

import torch

from robust_kbench.audit.truncation import truncated

ROOT_HALF = math.sqrt(0.5)


def _gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x.float() * (1 + torch.erf(x.float() * ROOT_HALF))


def error_function(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The formula in float32, as most kernels write it."""
    return (_gelu(gate) * up.float()).to(gate.dtype)


def complementary(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """By erfc, which does not cancel where the gate is negative."""
    return (0.5 * gate.float() * torch.special.erfc(gate.float() * -ROOT_HALF) * up.float()).to(gate.dtype)


def product_last(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The probability first, then times the product of the inputs."""
    probability = torch.addcmul(torch.tensor(0.5), torch.tensor(0.5), torch.erf(gate.float() * ROOT_HALF))
    return (gate.float() * up.float() * probability).to(gate.dtype)


def truncating_store(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(_gelu(gate) * up.float(), gate.dtype)


def tanh_form(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """With the approximation by a hyperbolic tangent, which is another op."""
    x = gate.float()
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return (0.5 * x * (1 + torch.tanh(inner)) * up.float()).to(gate.dtype)


def sigmoid_form(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """With the approximation x * sigmoid(1.702 x)."""
    return (gate.float() * torch.sigmoid(1.702 * gate.float()) * up.float()).to(gate.dtype)


def swish_gate(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The gate passes through a swish."""
    return (gate.float() * torch.sigmoid(gate.float()) * up.float()).to(gate.dtype)


def relu_gate(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The gate passes through a rectifier."""
    return (gate.float().clamp(min=0) * up.float()).to(gate.dtype)


def of_the_product(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The GELU of the product."""
    return _gelu(gate.float() * up.float()).to(gate.dtype)


def both_gated(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Both inputs pass through the GELU."""
    return (_gelu(gate) * _gelu(up)).to(gate.dtype)


def up_plus_one(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Times up + 1, as in another model's layer."""
    return (_gelu(gate) * (up.float() + 1)).to(gate.dtype)


def short_constant(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """0.707 instead of the root of one half."""
    return (0.5 * gate.float() * (1 + torch.erf(gate.float() * 0.707)) * up.float()).to(gate.dtype)


def polynomial_erf(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """With erf by formula 7.1.25 of Abramowitz and Stegun, which is good to 2.5e-5."""
    t = gate.float().abs() * ROOT_HALF
    k = 1 / (1 + 0.47047 * t)
    erf = 1 - (0.3480242 * k - 0.0958798 * k**2 + 0.7478556 * k**3) * torch.exp(-t * t)
    return (0.5 * gate.float() * (1 + erf.copysign(gate.float())) * up.float()).to(gate.dtype)


def gate_in_bfloat16(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The GELU is kept in bfloat16 before it is multiplied."""
    return (_gelu(gate).bfloat16().float() * up.float()).to(gate.dtype)


def step_by_step(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Halves: every step of the formula is rounded to the inputs' dtype."""
    return 0.5 * gate * (1 + torch.erf(gate * ROOT_HALF)) * up


def cut_off_at_three(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The gate counts as zero below minus three, and as itself above three."""
    gelu = torch.where(gate < -3, 0.0, torch.where(gate > 3, gate.float(), _gelu(gate)))
    return (gelu * up.float()).to(gate.dtype)


def stops_at_eight(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """As at 8 and -8 beyond them, as a table or a polynomial that ends there."""
    return error_function(gate.clamp(-8, 8), up)


def of_the_magnitude(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The sign of the gate is lost in the error function."""
    return (0.5 * gate.float() * (1 + torch.erf(gate.float().abs() * ROOT_HALF)) * up.float()).to(gate.dtype)


def up_of_the_next_column(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The other input is read one column too far."""
    return error_function(gate, up.roll(-1, -1))


def last_column_without_up(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The last column is not multiplied."""
    y = error_function(gate, up)
    y[:, -1:] = _gelu(gate[:, -1:]).to(gate.dtype)
    return y


def last_row_of_another(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """The last row's gate is the first row's."""
    gelu = _gelu(gate)
    gelu[-1:] = gelu[:1]
    return (gelu * up.float()).to(gate.dtype)


short_constant.dtypes = ("float32",)
polynomial_erf.dtypes = gate_in_bfloat16.dtypes = ("float32", "float16")
step_by_step.dtypes = ("float16", "bfloat16")

HONEST = (error_function, complementary, product_last, truncating_store)
MUTANTS = (
    tanh_form,
    sigmoid_form,
    swish_gate,
    relu_gate,
    of_the_product,
    both_gated,
    up_plus_one,
    short_constant,
    polynomial_erf,
    gate_in_bfloat16,
    step_by_step,
    cut_off_at_three,
    stops_at_eight,
    of_the_magnitude,
    up_of_the_next_column,
    last_column_without_up,
    last_row_of_another,
)

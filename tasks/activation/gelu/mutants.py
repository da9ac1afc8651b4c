"""Variants of GELU: honest ones that must pass and wrong ones that must fail."""

import math

import torch

from robust_kbench.audit.truncation import truncated

ROOT_HALF = math.sqrt(0.5)


def _gated(x: torch.Tensor, argument: torch.Tensor) -> torch.Tensor:
    return (0.5 * x.float() * (1 + torch.tanh(argument))).to(x.dtype)


def error_function(x: torch.Tensor) -> torch.Tensor:
    """The formula in float32, as most kernels write it."""
    wide = x.float()
    return (0.5 * wide * (1 + torch.erf(wide * ROOT_HALF))).to(x.dtype)


def complementary(x: torch.Tensor) -> torch.Tensor:
    """By erfc, which does not cancel where x is negative."""
    wide = x.float()
    return (0.5 * wide * torch.erfc(wide * -ROOT_HALF)).to(x.dtype)


def by_probability(x: torch.Tensor) -> torch.Tensor:
    """The probability first, then x times it."""
    probability = torch.addcmul(torch.tensor(0.5), torch.tensor(0.5), torch.erf(x.float() * ROOT_HALF))
    return (x.float() * probability).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    wide = x.float()
    return truncated(0.5 * wide * (1 + torch.erf(wide * ROOT_HALF)), x.dtype)


def tanh_form(x: torch.Tensor) -> torch.Tensor:
    """The approximation by a hyperbolic tangent, which is another op."""
    wide = x.float()
    return _gated(x, math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))


def sigmoid_form(x: torch.Tensor) -> torch.Tensor:
    """The approximation x * sigmoid(1.702 x)."""
    return (x.float() * torch.sigmoid(1.702 * x.float())).to(x.dtype)


def short_constant(x: torch.Tensor) -> torch.Tensor:
    """0.707 instead of the root of one half."""
    return (0.5 * x.float() * (1 + torch.erf(x.float() * 0.707))).to(x.dtype)


def polynomial_erf(x: torch.Tensor) -> torch.Tensor:
    """With erf by formula 7.1.25 of Abramowitz and Stegun, which is good to 2.5e-5."""
    t = x.float().abs() * ROOT_HALF
    k = 1 / (1 + 0.47047 * t)
    erf = 1 - (0.3480242 * k - 0.0958798 * k**2 + 0.7478556 * k**3) * torch.exp(-t * t)
    return (0.5 * x.float() * (1 + erf.copysign(x.float()))).to(x.dtype)


def gate_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The probability is kept in bfloat16 before x is multiplied by it."""
    gate = (0.5 * (1 + torch.erf(x.float() * ROOT_HALF))).bfloat16()
    return (x.float() * gate.float()).to(x.dtype)


def step_by_step(x: torch.Tensor) -> torch.Tensor:
    """Halves: every step of the formula is rounded to the input's dtype."""
    return 0.5 * x * (1 + torch.erf(x * ROOT_HALF))


def cut_off_at_three(x: torch.Tensor) -> torch.Tensor:
    """Zero below minus three, and x above three."""
    inner = error_function(x)
    return torch.where(x < -3, torch.zeros_like(x), torch.where(x > 3, x, inner))


def of_the_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The sign of x is lost in the error function."""
    return (0.5 * x.float() * (1 + torch.erf(x.float().abs() * ROOT_HALF))).to(x.dtype)


def last_column_passed_on(x: torch.Tensor) -> torch.Tensor:
    """The last column is x itself."""
    y = error_function(x)
    y[:, -1:] = x[:, -1:]
    return y


def stops_at_eight(x: torch.Tensor) -> torch.Tensor:
    """As at 8 and -8 beyond them, as a table or a polynomial that ends there."""
    return error_function(x.clamp(-8, 8))


def scaled_complement(x: torch.Tensor) -> torch.Tensor:
    """By exp(-t^2) erfcx(t), which loses nothing where x is negative and is zero times infinity above 13."""
    t = x.float() * -ROOT_HALF
    return (0.5 * x.float() * torch.exp(-t * t) * torch.special.erfcx(t)).to(x.dtype)


step_by_step.dtypes = ("float16", "bfloat16")
short_constant.dtypes = ("float32", "float16")
polynomial_erf.dtypes = ("float32", "float16")

HONEST = (error_function, complementary, by_probability, truncating_store)
MUTANTS = (
    tanh_form,
    sigmoid_form,
    short_constant,
    polynomial_erf,
    gate_in_bfloat16,
    step_by_step,
    cut_off_at_three,
    of_the_magnitude,
    last_column_passed_on,
    stops_at_eight,
    scaled_complement,
)

"""Variants of GELU by a hyperbolic tangent: honest ones that must pass and wrong ones that must fail."""

import math

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated

SCALE, CUBIC = math.sqrt(2 / math.pi), 0.044715


def _argument(x: torch.Tensor, scale: float = SCALE, cubic: float = CUBIC) -> torch.Tensor:
    wide = x.float()
    return scale * (wide + cubic * wide * wide * wide)


def _gated(x: torch.Tensor, argument: torch.Tensor) -> torch.Tensor:
    return 0.5 * x.float() * (1 + torch.tanh(argument))


def hyperbolic_tangent(x: torch.Tensor) -> torch.Tensor:
    """The formula in float32, as most kernels write it."""
    return _gated(x, _argument(x)).to(x.dtype)


def by_the_sigmoid(x: torch.Tensor) -> torch.Tensor:
    """As x / (1 + exp(-2 u)), which does not cancel where x is negative."""
    return (x.float() / (1 + torch.exp(-2 * _argument(x)))).to(x.dtype)


def factored_argument(x: torch.Tensor) -> torch.Tensor:
    """The argument as x times a polynomial of its square."""
    wide = x.float()
    tangent = torch.tanh(wide * (SCALE + SCALE * CUBIC * (wide * wide)))
    return (0.5 * wide * (1 + tangent)).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(_gated(x, _argument(x)), x.dtype)


def error_function(x: torch.Tensor) -> torch.Tensor:
    """The GELU itself, which is another op."""
    return torch.nn.functional.gelu(x.float()).to(x.dtype)


def sigmoid_form(x: torch.Tensor) -> torch.Tensor:
    """The approximation x * sigmoid(1.702 x)."""
    return (x.float() * torch.sigmoid(1.702 * x.float())).to(x.dtype)


def no_cube(x: torch.Tensor) -> torch.Tensor:
    """The cubic term is missing."""
    return _gated(x, SCALE * x.float()).to(x.dtype)


def square_for_the_cube(x: torch.Tensor) -> torch.Tensor:
    """The square stands where the cube should."""
    return _gated(x, SCALE * (x.float() + CUBIC * x.float() * x.float())).to(x.dtype)


def cube_outside(x: torch.Tensor) -> torch.Tensor:
    """The cubic term is not multiplied by sqrt(2 / pi)."""
    return _gated(x, SCALE * x.float() + CUBIC * x.float() ** 3).to(x.dtype)


def eight_tenths(x: torch.Tensor) -> torch.Tensor:
    """0.8 instead of sqrt(2 / pi)."""
    return _gated(x, _argument(x, scale=0.8)).to(x.dtype)


def short_constants(x: torch.Tensor) -> torch.Tensor:
    """0.7979 and 0.0447 instead of the constants."""
    return _gated(x, _argument(x, 0.7979, 0.0447)).to(x.dtype)


def coarse_tangent(x: torch.Tensor) -> torch.Tensor:
    """The instruction tanh.approx: eleven bits, of which 1 + tanh loses most where x is negative."""
    return (0.5 * x.float() * (1 + tf32(torch.tanh(_argument(x))))).to(x.dtype)


def gate_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The factor of x is kept in bfloat16."""
    gate = (0.5 * (1 + torch.tanh(_argument(x)))).bfloat16()
    return (x.float() * gate.float()).to(x.dtype)


def step_by_step(x: torch.Tensor) -> torch.Tensor:
    """Halves: every step of the formula is rounded to the input's dtype."""
    return 0.5 * x * (1 + torch.tanh(SCALE * (x + CUBIC * (x * x * x))))


def not_halved(x: torch.Tensor) -> torch.Tensor:
    """The factor of one half is missing."""
    return (x.float() * (1 + torch.tanh(_argument(x)))).to(x.dtype)


def overflowing(x: torch.Tensor) -> torch.Tensor:
    """The tangent as (e - 1) / (e + 1) with e = exp(2u): NaN where e is infinite."""
    e = torch.exp(2 * _argument(x))
    return (0.5 * x.float() * (1 + (e - 1) / (e + 1))).to(x.dtype)


def cut_off_at_three(x: torch.Tensor) -> torch.Tensor:
    """Zero below minus three, and x above three."""
    inner = hyperbolic_tangent(x)
    return torch.where(x < -3, torch.zeros_like(x), torch.where(x > 3, x, inner))


def of_the_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The sign of x is lost in the tangent."""
    return _gated(x, _argument(x.abs())).to(x.dtype)


def stops_at_eight(x: torch.Tensor) -> torch.Tensor:
    """As at 8 and -8 beyond them, as a table that ends there."""
    return hyperbolic_tangent(x.clamp(-8, 8))


def last_column_passed_on(x: torch.Tensor) -> torch.Tensor:
    """The last column is x itself."""
    y = hyperbolic_tangent(x)
    y[:, -1:] = x[:, -1:]
    return y


short_constants.dtypes = ("float32",)
gate_in_bfloat16.dtypes = ("float32", "float16")
step_by_step.dtypes = ("float16", "bfloat16")

HONEST = (hyperbolic_tangent, by_the_sigmoid, factored_argument, truncating_store)
MUTANTS = (
    error_function,
    sigmoid_form,
    no_cube,
    square_for_the_cube,
    cube_outside,
    eight_tenths,
    short_constants,
    coarse_tangent,
    gate_in_bfloat16,
    step_by_step,
    not_halved,
    overflowing,
    cut_off_at_three,
    of_the_magnitude,
    stops_at_eight,
    last_column_passed_on,
)

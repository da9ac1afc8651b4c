"""Variants of the gradient of GELU: honest ones that must pass and wrong ones that must fail."""

import math

import torch

from robust_kbench.audit.emulated import tf32

ROOT_HALF, PEAK = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)


def _probability(x: torch.Tensor, constant: float = ROOT_HALF) -> torch.Tensor:
    return 0.5 * (1 + torch.erf(x.float() * constant))


def _density(x: torch.Tensor) -> torch.Tensor:
    return PEAK * torch.exp(-0.5 * x.float() * x.float())


def _derivative(x: torch.Tensor) -> torch.Tensor:
    return _probability(x) + x.float() * _density(x)


def error_function(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The formula in float32, as most kernels write it."""
    return (grad_y.float() * _derivative(x)).to(x.dtype)


def complementary(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The probability by erfc, which does not cancel where x is negative."""
    probability = 0.5 * torch.special.erfc(x.float() * -ROOT_HALF)
    return (grad_y.float() * (probability + x.float() * _density(x))).to(x.dtype)


def of_one_argument(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Error function and exponential of the same t = x / sqrt(2); the density's constant is x's factor."""
    t = x.float() * ROOT_HALF
    probability = torch.addcmul(torch.tensor(0.5), torch.tensor(0.5), torch.erf(t))
    return (grad_y.float() * torch.addcmul(probability, x.float() * PEAK, torch.exp(-t * t))).to(x.dtype)


def terms_apart(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Both terms times the upstream gradient, then their sum; the exponential as a power of two."""
    power = torch.exp2(x.float() * x.float() * (-0.5 * math.log2(math.e)))
    return (grad_y.float() * _probability(x) + grad_y.float() * x.float() * PEAK * power).to(x.dtype)


def probability_alone(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The term with the density is missing."""
    return (grad_y.float() * _probability(x)).to(x.dtype)


def density_not_normalised(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The density lacks 1 / sqrt(2 pi)."""
    return (grad_y.float() * (_probability(x) + x.float() * _density(x) / PEAK)).to(x.dtype)


def density_of_the_error_function(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The exponent is not halved."""
    density = PEAK * torch.exp(-x.float() * x.float())
    return (grad_y.float() * (_probability(x) + x.float() * density)).to(x.dtype)


def density_not_times_x(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The density is not multiplied by x."""
    return (grad_y.float() * (_probability(x) + _density(x))).to(x.dtype)


def density_subtracted(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The sign of the second term."""
    return (grad_y.float() * (_probability(x) - x.float() * _density(x))).to(x.dtype)


def sigmoid_form(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of x * sigmoid(1.702 x)."""
    gate = torch.sigmoid(1.702 * x.float())
    return (grad_y.float() * gate * (1 + 1.702 * x.float() * (1 - gate))).to(x.dtype)


def tanh_form(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """float32: the gradient of the approximation by a hyperbolic tangent."""
    scale = math.sqrt(2 / math.pi)
    tangent = torch.tanh(scale * (x + 0.044715 * x**3))
    slope = scale * (1 + 3 * 0.044715 * x * x)
    return grad_y * (0.5 * (1 + tangent) + 0.5 * x * (1 - tangent * tangent) * slope)


def swish_gradient(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of swish."""
    gate = torch.sigmoid(x.float())
    return (grad_y.float() * gate * (1 + x.float() * (1 - gate))).to(x.dtype)


def rectifier_gradient(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """One where x is positive, zero elsewhere."""
    return torch.where(x > 0, grad_y, torch.zeros_like(grad_y))


def forward_again(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The upstream gradient times the GELU itself."""
    return (grad_y.float() * x.float() * _probability(x)).to(x.dtype)


def no_upstream_gradient(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The derivative alone."""
    return _derivative(x).to(x.dtype)


def short_constant(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """float32: 0.707 instead of the root of one half."""
    return grad_y * (_probability(x, 0.707) + x * _density(x))


def cut_off_at_three(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Zero below minus three, and one above three."""
    derivative = torch.where(x < -3, 0.0, torch.where(x > 3, 1.0, _derivative(x)))
    return (grad_y.float() * derivative).to(x.dtype)


def of_the_magnitude(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The derivative at |x|."""
    return (grad_y.float() * _derivative(x.abs())).to(x.dtype)


def derivative_in_bfloat16(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The derivative is kept in bfloat16."""
    return (grad_y.float() * _derivative(x).bfloat16().float()).to(x.dtype)


def tf32_gradient(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """float32: the upstream gradient passes through TF32."""
    return tf32(grad_y) * _derivative(x)


def last_row_of_another(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The last row's derivative is the first row's."""
    derivative = _derivative(x)
    derivative[-1:] = derivative[:1]
    return (grad_y.float() * derivative).to(x.dtype)


def last_column_passed_on(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The last column is the upstream gradient."""
    grad_x = error_function(grad_y, x)
    grad_x[:, -1:] = grad_y[:, -1:]
    return grad_x


tanh_form.dtypes = short_constant.dtypes = tf32_gradient.dtypes = ("float32",)
derivative_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (error_function, complementary, of_one_argument, terms_apart)
MUTANTS = (
    probability_alone,
    density_not_normalised,
    density_of_the_error_function,
    density_not_times_x,
    density_subtracted,
    sigmoid_form,
    tanh_form,
    swish_gradient,
    rectifier_gradient,
    forward_again,
    no_upstream_gradient,
    short_constant,
    cut_off_at_three,
    of_the_magnitude,
    derivative_in_bfloat16,
    tf32_gradient,
    last_row_of_another,
    last_column_passed_on,
)

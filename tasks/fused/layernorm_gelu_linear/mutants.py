"""Variants of normalisation, unit and affine map: honest ones that must pass and wrong ones that must fail."""

import math

import torch
from torch import Tensor
from torch.nn.functional import gelu, silu

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

EPSILON = 1e-5
ROOT_HALF = math.sqrt(0.5)


def _moments(x: Tensor) -> tuple[Tensor, Tensor]:
    mean = x.float().mean(-1, keepdim=True)
    return mean, (x.float() - mean).square().mean(-1, keepdim=True)


def _scaled(x: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, factor: Tensor) -> Tensor:
    return (x.float() - mean) * factor * gamma.float() + beta.float()


def _normed(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    mean, variance = _moments(x)
    return _scaled(x, gamma, beta, mean, torch.rsqrt(variance + EPSILON))


def _affine(values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """In the weights' dtype."""
    return (values.float() @ weight.float().T + bias.float()).to(weight.dtype)


def fused(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """One kernel: everything in float32, moments by 32 lanes, sixteen terms of the product at a time."""
    cols = x.shape[-1]
    mean = summed(x.float())[:, None] / cols
    variance = summed((x.float() - mean).square())[:, None] / cols
    normed = _scaled(x, gamma, beta, mean, torch.rsqrt(variance + EPSILON))
    values = 0.5 * normed * (1 + torch.erf(normed * ROOT_HALF))
    return (multiplied(values, weight.float().T) + bias.float()).to(x.dtype)


def two_kernels(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """What the product reads is stored in the task's dtype."""
    normed = _normed(x, gamma, beta)
    values = (0.5 * normed * torch.erfc(normed * -ROOT_HALF)).to(x.dtype)
    return (multiplied(values, weight.T, step=8) + bias.float()).to(x.dtype)


def three_kernels(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The normalised rows and what the product reads are each stored in the task's dtype."""
    values = gelu(_normed(x, gamma, beta).to(x.dtype))
    return _affine(values, weight, bias)


def split_columns(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Three blocks of columns, each multiplied on its own in float32; division by the root."""
    mean, variance = _moments(x)
    values = gelu(_scaled(x, gamma, beta, mean, 1 / torch.sqrt(variance + EPSILON)))
    size = -(-x.shape[1] // 3)
    blocks = zip(values.split(size, 1), weight.float().split(size, 1), strict=True)
    return (sum(left @ right.T for left, right in blocks) + bias.float()).to(x.dtype)


def in_double(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    centred = x.double() - x.double().mean(-1, keepdim=True)
    normed = centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + EPSILON) * gamma.double() + beta.double()
    return torch.addmm(bias.double(), gelu(normed), weight.double().T).to(x.dtype)


def one_accumulator(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The moments of each row by one thread, which adds its terms one after the other."""
    cols = x.shape[-1]
    mean = summed_in_turn(x.float())[:, None] / cols
    variance = summed_in_turn((x.float() - mean).square())[:, None] / cols
    return _affine(gelu(_scaled(x, gamma, beta, mean, torch.rsqrt(variance + EPSILON))), weight, bias)


def tf32_product(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float32: the factors of the product are rounded to TF32."""
    return tf32(gelu(_normed(x, gamma, beta))) @ tf32(weight).T + bias


def half_accumulator(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float16 accumulators, rounded after every four terms."""
    return (multiplied(gelu(_normed(x, gamma, beta)), weight.T, torch.float16, step=4).float() + bias.float()).to(
        x.dtype
    )


def accumulator_of_the_dtype(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Halves: accumulators of the inputs' own dtype, rounded after every two terms."""
    return multiplied(gelu(_normed(x, gamma, beta)), weight.T, x.dtype, step=2) + bias


def bfloat16_between(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """What the product reads is stored in bfloat16."""
    return _affine(gelu(_normed(x, gamma, beta)).bfloat16(), weight, bias)


def eps_of_rmsnorm(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Epsilon 1e-6 instead of 1e-5."""
    mean, variance = _moments(x)
    normed = _scaled(x, gamma, beta, mean, torch.rsqrt(variance + 1e-6))
    return _affine(gelu(normed), weight, bias)


def eps_outside_the_root(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Epsilon is added to the standard deviation instead of to the variance."""
    mean, variance = _moments(x)
    normed = _scaled(x, gamma, beta, mean, 1 / (variance.sqrt() + EPSILON))
    return _affine(gelu(normed), weight, bias)


def no_eps(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """No epsilon: a row of equal values becomes NaN."""
    mean, variance = _moments(x)
    normed = _scaled(x, gamma, beta, mean, torch.rsqrt(variance))
    return _affine(gelu(normed), weight, bias)


def unbiased_variance(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The variance is divided by the number of columns minus one."""
    mean, variance = _moments(x)
    normed = _scaled(x, gamma, beta, mean, torch.rsqrt(variance * (x.shape[-1] / (x.shape[-1] - 1)) + EPSILON))
    return _affine(gelu(normed), weight, bias)


def no_mean(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Root-mean-square normalisation with an offset: the mean is not removed."""
    square = x.float().square().mean(-1, keepdim=True)
    normed = _scaled(x, gamma, beta, torch.zeros_like(square), torch.rsqrt(square + EPSILON))
    return _affine(gelu(normed), weight, bias)


def moments_in_bfloat16(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The centred squares are summed in bfloat16, by eight lanes."""
    mean, _ = _moments(x)
    variance = summed((x.float() - mean).square(), torch.bfloat16, lanes=8).float()[:, None] / x.shape[-1]
    return _affine(gelu(_scaled(x, gamma, beta, mean, torch.rsqrt(variance + EPSILON))), weight, bias)


def moments_without_the_tail(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Columns behind the last whole vector of eight do not enter the moments."""
    mean, variance = _moments(x[:, : x.shape[-1] // 8 * 8])
    return _affine(gelu(_scaled(x, gamma, beta, mean, torch.rsqrt(variance + EPSILON))), weight, bias)


def moments_of_the_first_row(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last row is normalised by the moments of the first, or by none where it is alone."""
    mean, variance = _moments(x)
    first = (mean[:1], variance[:1]) if len(x) > 1 else (torch.zeros_like(mean), torch.ones_like(variance))
    mean, variance = torch.cat((mean[:-1], first[0])), torch.cat((variance[:-1], first[1]))
    return _affine(gelu(_scaled(x, gamma, beta, mean, torch.rsqrt(variance + EPSILON))), weight, bias)


def no_gamma(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The scale is left out."""
    return _affine(gelu(_normed(x, torch.ones_like(gamma), beta)), weight, bias)


def no_beta(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The offset is left out."""
    return _affine(gelu(_normed(x, gamma, torch.zeros_like(beta))), weight, bias)


def gamma_over_beta(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The scale multiplies the offset too."""
    return _affine(gelu(_normed(x, gamma, beta.float() * gamma.float())), weight, bias)


def tanh_form(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float32: the approximation of the unit by a hyperbolic tangent, which is another op."""
    return _affine(gelu(_normed(x, gamma, beta), approximate="tanh"), weight, bias)


def sigmoid_form(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The approximation n * sigmoid(1.702 n) of the unit."""
    normed = _normed(x, gamma, beta)
    return _affine(normed * torch.sigmoid(1.702 * normed), weight, bias)


def swish(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A swish in place of the unit."""
    return _affine(silu(_normed(x, gamma, beta)), weight, bias)


def rectifier(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A rectifier in place of the unit."""
    return _affine(_normed(x, gamma, beta).clamp(min=0), weight, bias)


def unit_first(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The unit comes before the normalisation."""
    return _affine(_normed(gelu(x.float()), gamma, beta), weight, bias)


def unit_last(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The unit comes after the affine map."""
    return gelu(_affine(_normed(x, gamma, beta), weight, bias))


def no_bias(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The bias is left out."""
    return _affine(gelu(_normed(x, gamma, beta)), weight, torch.zeros_like(bias))


def drops_the_last_column(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last column is left out of the product."""
    return _affine(gelu(_normed(x, gamma, beta))[:, :-1], weight[:, :-1], bias)


def drops_the_tail(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Columns behind the last whole block of sixteen are left out of the product."""
    whole = x.shape[1] // 16 * 16
    return _affine(gelu(_normed(x, gamma, beta))[:, :whole], weight[:, :whole], bias)


def one_value_missing(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The largest value that the product of the last row reads is left out."""
    values = gelu(_normed(x, gamma, beta))
    values[-1, values[-1].argmax()] = 0
    return _affine(values, weight, bias)


tf32_product.dtypes = tanh_form.dtypes = ("float32",)
half_accumulator.dtypes = bfloat16_between.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")

moments_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (one_accumulator, fused, two_kernels, three_kernels, split_columns, in_double)
MUTANTS = (
    tf32_product, half_accumulator, accumulator_of_the_dtype, bfloat16_between, eps_of_rmsnorm, eps_outside_the_root,
    no_eps, unbiased_variance, no_mean, moments_in_bfloat16, moments_without_the_tail, moments_of_the_first_row,
    no_gamma, no_beta, gamma_over_beta, tanh_form, sigmoid_form, swish, rectifier, unit_first, unit_last, no_bias,
    drops_the_last_column, drops_the_tail, one_value_missing,
)  # fmt: skip

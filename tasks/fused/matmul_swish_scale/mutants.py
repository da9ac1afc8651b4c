"""Variants of the affine map with swish and a factor: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor
from torch.nn.functional import gelu, hardswish

from robust_kbench.audit.emulated import multiplied, tf32


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x.float() @ weight.float().T + bias.float()


def _swish(z: Tensor, scale: float) -> Tensor:
    return z * torch.sigmoid(z) * scale


def tensor_core(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """Sixteen terms at a time into float32 accumulators; bias, swish by a division, and the factor last."""
    z = multiplied(x, weight.T) + bias.float()
    return (z / (1 + torch.exp(-z)) * scale).to(x.dtype)


def after_the_store(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """Two kernels: the affine map is stored in the task's dtype; the factor is applied before the sigmoid's product."""
    z = (multiplied(x, weight.T, step=4) + bias.float()).to(x.dtype).float()
    return (z * scale * torch.sigmoid(z)).to(x.dtype)


def three_kernels(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """Affine map and swish are each stored in the task's dtype."""
    return torch.nn.functional.silu(_affine(x, weight, bias).to(x.dtype)) * scale


def split_k(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """Three blocks of the input features, each summed on its own in float32; the sigmoid by a hyperbolic tangent."""
    size = -(-x.shape[1] // 3)
    blocks = zip(x.float().split(size, 1), weight.float().split(size, 1), strict=True)
    half = 0.5 * (sum(left @ right.T for left, right in blocks) + bias.float())
    return ((half + half * torch.tanh(half)) * scale).to(x.dtype)


def in_double(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """float64 all the way, rounded once."""
    return _swish(torch.addmm(bias.double(), x.double(), weight.double().T), scale).to(x.dtype)


def tf32_once(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """float32: the factors are rounded to TF32."""
    return _swish(tf32(x) @ tf32(weight).T + bias, scale)


def two_bfloat16(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """float32: each factor as a sum of two bfloat16 numbers, which holds 16 of 24 bits."""
    x_high, w_high = x.bfloat16().float(), weight.bfloat16().float()
    x_low, w_low = (x - x_high).bfloat16().float(), (weight - w_high).bfloat16().float()
    return _swish(x_high @ w_low.T + x_low @ w_high.T + x_high @ w_high.T + bias, scale)


def half_accumulator(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """float16 accumulators, rounded after every eight terms."""
    return _swish(multiplied(x, weight.T, torch.float16, step=8).float() + bias.float(), scale).to(x.dtype)


def accumulator_of_the_dtype(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """Halves: accumulators of the inputs' own dtype, rounded after every four terms."""
    return _swish((multiplied(x, weight.T, x.dtype, step=4) + bias).float(), scale).to(x.dtype)


def scaled_before_swish(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The factor comes before swish."""
    return _swish(_affine(x, weight, bias) * scale, 1.0).to(x.dtype)


def factor_of_two(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The factor is taken for two."""
    return _swish(_affine(x, weight, bias), 2.0).to(x.dtype)


def sigmoid_alone(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The product with z is left out."""
    return (torch.sigmoid(_affine(x, weight, bias)) * scale).to(x.dtype)


def gelu_instead(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """A GELU."""
    return (gelu(_affine(x, weight, bias)) * scale).to(x.dtype)


def straight_lines(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The sigmoid is replaced by straight lines."""
    return (hardswish(_affine(x, weight, bias)) * scale).to(x.dtype)


def rectifier(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The positive part."""
    return (_affine(x, weight, bias).clamp(min=0) * scale).to(x.dtype)


def steeper(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """Nearly, but not, swish: z / (1 + exp(-1.0625 z))."""
    z = _affine(x, weight, bias)
    return (z * torch.sigmoid(1.0625 * z) * scale).to(x.dtype)


def gate_in_bfloat16(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The sigmoid is kept in bfloat16."""
    z = _affine(x, weight, bias)
    return (z * torch.sigmoid(z).bfloat16().float() * scale).to(x.dtype)


def swish_before_the_bias(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The bias is added to the result."""
    return (_swish(x.float() @ weight.float().T, scale) + bias.float()).to(x.dtype)


def no_bias(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The bias is left out."""
    return _swish(x.float() @ weight.float().T, scale).to(x.dtype)


def drops_the_last_term(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The last input feature is left out."""
    return _swish(_affine(x[:, :-1], weight[:, :-1], bias), scale).to(x.dtype)


def drops_the_tail(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The input features behind the last whole block of eight are left out."""
    whole = x.shape[1] // 8 * 8 or x.shape[1]
    return _swish(_affine(x[:, :whole], weight[:, :whole], bias), scale).to(x.dtype)


def last_row_not_scaled(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The last row misses the factor."""
    y = _swish(_affine(x, weight, bias), 1.0)
    return torch.cat((y[:-1] * scale, y[-1:])).to(x.dtype)


def one_term_missing_once(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Tensor:
    """The largest element misses its last term."""
    z = _affine(x, weight, bias)
    row, column = divmod(int(z.argmax()), z.shape[1])
    z[row, column] -= x[row, -1].float() * weight[column, -1].float()
    return _swish(z, scale).to(x.dtype)


tf32_once.dtypes = two_bfloat16.dtypes = ("float32",)
half_accumulator.dtypes = gate_in_bfloat16.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (tensor_core, after_the_store, three_kernels, split_k, in_double)
MUTANTS = (
    tf32_once, two_bfloat16, half_accumulator, accumulator_of_the_dtype, scaled_before_swish, factor_of_two,
    sigmoid_alone, gelu_instead, straight_lines, rectifier, steeper, gate_in_bfloat16, swish_before_the_bias, no_bias,
    drops_the_last_term, drops_the_tail, last_row_not_scaled, one_term_missing_once,
)  # fmt: skip

"""Variants of the affine map with a Gaussian error linear unit: honest ones that must pass and wrong ones."""

import math

import torch
from torch import Tensor

from robust_kbench.audit.emulated import multiplied, tf32

ROOT_HALF = math.sqrt(0.5)


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x.float() @ weight.float().T + bias.float()


def _unit(z: Tensor) -> Tensor:
    return 0.5 * z * (1 + torch.erf(z * ROOT_HALF))


def tensor_core(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Sixteen terms at a time into float32 accumulators, bias and unit last."""
    return _unit(multiplied(x, weight.T) + bias.float()).to(x.dtype)


def unit_after_the_store(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Two kernels: the affine map is stored in the task's dtype; the unit by erfc, in float32."""
    z = (multiplied(x, weight.T, step=4) + bias.float()).to(x.dtype).float()
    return (0.5 * z * torch.erfc(z * -ROOT_HALF)).to(x.dtype)


def split_k(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Three blocks of the input features, each summed on its own in float32; the unit once they are added."""
    size = -(-x.shape[1] // 3)
    blocks = zip(x.float().split(size, 1), weight.float().split(size, 1), strict=True)
    return _unit(sum(left @ right.T for left, right in blocks) + bias.float()).to(x.dtype)


def in_double(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float64 accumulators, rounded to float32 before the library's unit."""
    z = torch.addmm(bias.double(), x.double(), weight.double().T).float()
    return torch.nn.functional.gelu(z).to(x.dtype)


def tf32_once(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float32: the factors are rounded to TF32."""
    return _unit(tf32(x) @ tf32(weight).T + bias)


def two_bfloat16(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float32: each factor as a sum of two bfloat16 numbers, which holds 16 of 24 bits."""
    x_high, w_high = x.bfloat16().float(), weight.bfloat16().float()
    x_low, w_low = (x - x_high).bfloat16().float(), (weight - w_high).bfloat16().float()
    return _unit(x_high @ w_low.T + x_low @ w_high.T + x_high @ w_high.T + bias)


def half_accumulator(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float16 accumulators, rounded after every eight terms."""
    return _unit(multiplied(x, weight.T, torch.float16, step=8).float() + bias.float()).to(x.dtype)


def accumulator_of_the_dtype(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Halves: accumulators of the inputs' own dtype, rounded after every eight terms."""
    return _unit((multiplied(x, weight.T, x.dtype, step=8) + bias).float()).to(x.dtype)


def tanh_form(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float32: the approximation by a hyperbolic tangent, which is another op."""
    return torch.nn.functional.gelu(_affine(x, weight, bias), approximate="tanh")


def sigmoid_form(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The approximation z * sigmoid(1.702 z)."""
    z = _affine(x, weight, bias)
    return (z * torch.sigmoid(1.702 * z)).to(x.dtype)


def swish(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Swish, z * sigmoid(z)."""
    return torch.nn.functional.silu(_affine(x, weight, bias)).to(x.dtype)


def rectifier(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The positive part."""
    return _affine(x, weight, bias).clamp(min=0).to(x.dtype)


def short_constant(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float32: 0.707 instead of the root of one half."""
    z = _affine(x, weight, bias)
    return (0.5 * z * (1 + torch.erf(z * 0.707))).to(x.dtype)


def gate_in_bfloat16(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The probability is kept in bfloat16 before z is multiplied by it."""
    z = _affine(x, weight, bias)
    return (z * (0.5 * (1 + torch.erf(z * ROOT_HALF))).bfloat16().float()).to(x.dtype)


def cut_off_at_three(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Zero below minus three, and z above three."""
    z = _affine(x, weight, bias)
    return torch.where(z.abs() < 3, _unit(z), z.clamp(min=0)).to(x.dtype)


def of_the_magnitude(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The sign of z is lost in the error function."""
    z = _affine(x, weight, bias)
    return (0.5 * z * (1 + torch.erf(z.abs() * ROOT_HALF))).to(x.dtype)


def unit_before_the_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The unit comes before the bias."""
    return (_unit(x.float() @ weight.float().T) + bias.float()).to(x.dtype)


def not_applied(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The unit is left out."""
    return _affine(x, weight, bias).to(x.dtype)


def no_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The bias is left out."""
    return _unit(x.float() @ weight.float().T).to(x.dtype)


def drops_the_last_term(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last input feature is left out."""
    return _unit(_affine(x[:, :-1], weight[:, :-1], bias)).to(x.dtype)


def drops_the_tail(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The input features behind the last whole block of eight are left out."""
    whole = x.shape[1] // 8 * 8 or x.shape[1]
    return _unit(_affine(x[:, :whole], weight[:, :whole], bias)).to(x.dtype)


def units_of_blocks(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Split in two halves of the input features, each of which goes through the unit before they are added."""
    middle = x.shape[1] // 2
    first = x[:, :middle].float() @ weight[:, :middle].float().T
    return (_unit(first) + _unit(_affine(x[:, middle:], weight[:, middle:], bias))).to(x.dtype)


def last_row_without_the_unit(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The unit misses the last row."""
    z = _affine(x, weight, bias)
    return torch.cat((_unit(z[:-1]), z[-1:])).to(x.dtype)


def one_term_missing_once(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The largest element misses its last term."""
    z = _affine(x, weight, bias)
    row, column = divmod(int(z.argmax()), z.shape[1])
    z[row, column] -= x[row, -1].float() * weight[column, -1].float()
    return _unit(z).to(x.dtype)


tf32_once.dtypes = two_bfloat16.dtypes = tanh_form.dtypes = short_constant.dtypes = ("float32",)
half_accumulator.dtypes = gate_in_bfloat16.dtypes = cut_off_at_three.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (tensor_core, unit_after_the_store, split_k, in_double)
MUTANTS = (
    tf32_once, two_bfloat16, half_accumulator, accumulator_of_the_dtype, tanh_form, sigmoid_form, swish, rectifier,
    short_constant, gate_in_bfloat16, cut_off_at_three, of_the_magnitude, unit_before_the_bias, not_applied, no_bias,
    drops_the_last_term, drops_the_tail, units_of_blocks, last_row_without_the_unit, one_term_missing_once,
)  # fmt: skip

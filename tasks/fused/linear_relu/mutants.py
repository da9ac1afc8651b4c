"""Variants of the rectified affine map: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _affine(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return x.float() @ weight.float().T + bias.float()


def tensor_core(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Sixteen terms at a time into float32 accumulators, bias and rectifier last."""
    return (multiplied(x, weight.T) + bias.float()).clamp(min=0).to(x.dtype)


def rectified_after_the_store(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is one more input feature of ones; the rounded result is rectified."""
    wide = torch.cat((x.float(), x.new_ones((len(x), 1)).float()), 1)
    return multiplied(wide, torch.cat((weight.float(), bias.float()[:, None]), 1).T, step=4).to(x.dtype).relu()


def split_k(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Three blocks of the input features, each summed on its own in float32, rectified once they are added."""
    size = -(-x.shape[1] // 3)
    blocks = zip(x.float().split(size, 1), weight.float().split(size, 1), strict=True)
    return (sum(left @ right.T for left, right in blocks) + bias.float()).clamp(min=0).to(x.dtype)


def in_double(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float64 accumulators, rounded once before the rectifier."""
    return torch.addmm(bias.double(), x.double(), weight.double().T).to(x.dtype).relu()


def tf32_once(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return (tf32(x) @ tf32(weight).T + bias).clamp(min=0)


def two_bfloat16(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: each factor as a sum of two bfloat16 numbers, which holds 16 of 24 bits."""
    x_high, w_high = x.bfloat16().float(), weight.bfloat16().float()
    x_low, w_low = (x - x_high).bfloat16().float(), (weight - w_high).bfloat16().float()
    return (x_high @ w_low.T + x_low @ w_high.T + x_high @ w_high.T + bias).clamp(min=0)


def half_accumulator(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float16 accumulators, rounded after every eight terms."""
    return (multiplied(x, weight.T, torch.float16, step=8).float() + bias.float()).clamp(min=0).to(x.dtype)


def accumulator_of_the_dtype(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Halves: accumulators of the inputs' own dtype, rounded after every eight terms."""
    return (multiplied(x, weight.T, x.dtype, step=8) + bias).relu()


def rectified_before_the_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The rectifier comes before the bias."""
    return ((x.float() @ weight.float().T).clamp(min=0) + bias.float()).to(x.dtype)


def not_rectified(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The rectifier is left out."""
    return _affine(x, weight, bias).to(x.dtype)


def magnitude(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The magnitude instead of the positive part."""
    return _affine(x, weight, bias).abs().to(x.dtype)


def leaks(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A leaky rectifier with slope 0.01."""
    return torch.nn.functional.leaky_relu(_affine(x, weight, bias)).to(x.dtype)


def smooth(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A sharp softplus, log(1 + exp(32 y)) / 32, which differs near zero alone."""
    return torch.nn.functional.softplus(_affine(x, weight, bias), beta=32).to(x.dtype)


def clipped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Clipped at six as well, as mobile networks do."""
    return _affine(x, weight, bias).clamp(0, 6).to(x.dtype)


def small_is_zero(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Results up to 0.03 are taken for zero."""
    y = _affine(x, weight, bias)
    return torch.where(y > 0.03, y, 0.0).to(x.dtype)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is left out."""
    return (x.float() @ weight.float().T).clamp(min=0).to(x.dtype)


def drops_the_last_term(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last input feature is left out."""
    return _affine(x[:, :-1], weight[:, :-1], bias).clamp(min=0).to(x.dtype)


def drops_the_tail(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The input features behind the last whole block of eight are left out."""
    whole = x.shape[1] // 8 * 8 or x.shape[1]
    return _affine(x[:, :whole], weight[:, :whole], bias).clamp(min=0).to(x.dtype)


def rectified_blocks(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Split in two halves of the input features, each rectified before they are added."""
    middle = x.shape[1] // 2
    first = x[:, :middle].float() @ weight[:, :middle].float().T
    return (first.clamp(min=0) + _affine(x[:, middle:], weight[:, middle:], bias).clamp(min=0)).to(x.dtype)


def last_row_not_rectified(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The rectifier misses the last row."""
    y = _affine(x, weight, bias)
    return torch.cat((y[:-1].clamp(min=0), y[-1:])).to(x.dtype)


def one_term_missing_once(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The largest element misses its last term."""
    y = _affine(x, weight, bias)
    row, column = divmod(int(y.argmax()), y.shape[1])
    y[row, column] -= x[row, -1].float() * weight[column, -1].float()
    return y.clamp(min=0).to(x.dtype)


tf32_once.dtypes = two_bfloat16.dtypes = ("float32",)
half_accumulator.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (tensor_core, rectified_after_the_store, split_k, in_double)
MUTANTS = (
    tf32_once, two_bfloat16, half_accumulator, accumulator_of_the_dtype, rectified_before_the_bias, not_rectified,
    magnitude, leaks, smooth, clipped, small_is_zero, no_bias, drops_the_last_term, drops_the_tail, rectified_blocks,
    last_row_not_rectified, one_term_missing_once,
)  # fmt: skip

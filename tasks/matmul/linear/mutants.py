"""Variants of the affine map: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _affine(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return x.float() @ weight.float().T + bias.float()


def tensor_core(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Sixteen terms at a time into float32 accumulators, the bias last."""
    return (multiplied(x, weight.T) + bias.float()).to(x.dtype)


def bias_first(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The float32 accumulators start at the bias; four terms at a time."""
    total = bias.float().expand(len(x), -1)
    for left, right in zip(x.float().split(4, 1), weight.float().split(4, 1), strict=True):
        total = total + left @ right.T
    return total.to(x.dtype)


def split_k(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Four blocks of the input features, each summed on its own in float32, added at the end."""
    size = -(-x.shape[1] // 4)
    blocks = zip(x.float().split(size, 1), weight.float().split(size, 1), strict=True)
    return (torch.stack([left @ right.T for left, right in blocks]).sum(0) + bias.float()).to(x.dtype)


def three_tf32(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Each factor split into two TF32 numbers, three products: float32 on tensor cores (CUTLASS's 3xTF32)."""
    x_high, w_high = tf32(x), tf32(weight)
    x_low, w_low = tf32(x.float() - x_high), tf32(weight.float() - w_high)
    return (x_high @ w_low.T + x_low @ w_high.T + x_high @ w_high.T + bias.float()).to(x.dtype)


def tf32_once(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return tf32(x) @ tf32(weight).T + bias


def bfloat16_weight(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The weight is kept in bfloat16."""
    return _affine(x, weight.bfloat16(), bias).to(x.dtype)


def two_bfloat16(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: each factor as a sum of two bfloat16 numbers, which holds 16 of 24 bits."""
    x_high, w_high = x.bfloat16().float(), weight.bfloat16().float()
    x_low, w_low = (x - x_high).bfloat16().float(), (weight - w_high).bfloat16().float()
    return x_high @ w_low.T + x_low @ w_high.T + x_high @ w_high.T + bias


def half_accumulator(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float16 accumulators, rounded after every eight terms."""
    return (multiplied(x, weight.T, torch.float16, step=8).float() + bias.float()).to(x.dtype)


def accumulator_of_the_dtype(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Halves: accumulators of the inputs' own dtype, rounded after every eight terms."""
    return multiplied(x, weight.T, x.dtype, step=8) + bias


def half_partial_sums(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Halves: blocks of 32 terms are summed in float32 but stored and added in the inputs' own dtype."""
    return multiplied(x, weight.T, x.dtype, step=32) + bias


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is left out."""
    return (x.float() @ weight.float().T).to(x.dtype)


def bias_of_the_first_feature(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Every feature gets the bias of the first."""
    return _affine(x, weight, bias[:1]).to(x.dtype)


def bias_shifted(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Every feature gets its neighbour's bias, which matters for more than one feature."""
    return _affine(x, weight, bias.roll(1)).to(x.dtype)


def bias_twice(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Two blocks of the input features both add the bias."""
    return _affine(x, weight, 2 * bias).to(x.dtype)


def coarse_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is kept in bfloat16."""
    return _affine(x, weight, bias.bfloat16()).to(x.dtype)


def drops_the_last_term(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last input feature is left out."""
    return _affine(x[:, :-1], weight[:, :-1], bias).to(x.dtype)


def drops_the_tail(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The input features behind the last whole block of 16 are left out."""
    whole = x.shape[1] // 16 * 16 or x.shape[1]
    return _affine(x[:, :whole], weight[:, :whole], bias).to(x.dtype)


def one_term_missing_once(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """One element, in the middle, misses its last term."""
    y = _affine(x, weight, bias)
    row, column = y.shape[0] // 2, y.shape[1] // 2
    y[row, column] -= x[row, -1].float() * weight[column, -1].float()
    return y.to(x.dtype)


def last_element_without_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last element misses its bias."""
    y = _affine(x, weight, bias)
    y[-1, -1] = x[-1].float() @ weight[-1].float()
    return y.to(x.dtype)


def weight_not_transposed(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The weight's memory is read as [in_features, out_features]."""
    return (x.float() @ weight.reshape(weight.shape[1], weight.shape[0]).float() + bias.float()).to(x.dtype)


def rectified(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A rectifier follows, as in a fused layer."""
    return _affine(x, weight, bias).clamp(min=0).to(x.dtype)


tf32_once.dtypes = two_bfloat16.dtypes = ("float32",)
bfloat16_weight.dtypes = coarse_bias.dtypes = half_accumulator.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = half_partial_sums.dtypes = ("float16", "bfloat16")

HONEST = (tensor_core, bias_first, split_k, three_tf32)
MUTANTS = (
    tf32_once, bfloat16_weight, two_bfloat16, half_accumulator, accumulator_of_the_dtype, half_partial_sums, no_bias,
    bias_of_the_first_feature, bias_shifted, bias_twice, coarse_bias, drops_the_last_term, drops_the_tail,
    one_term_missing_once, last_element_without_bias, weight_not_transposed, rectified,
)  # fmt: skip

"""Variants of root-mean-square normalisation after a residual: honest ones that must pass and wrong ones."""

import torch

from robust_kbench.audit.emulated import summed, tf32

EPSILON = 1e-6
Pair = tuple[torch.Tensor, torch.Tensor]


def _sum(x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    return x.float() + residual.float()


def _mean_square(h: torch.Tensor) -> torch.Tensor:
    return h.square().mean(-1, keepdim=True)


def _normalise(h: torch.Tensor, weight: torch.Tensor, mean_square: torch.Tensor, epsilon: float) -> torch.Tensor:
    return (h * torch.rsqrt(mean_square + epsilon) * weight.float()).to(weight.dtype)


def _expected(h: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return _normalise(h, weight, _mean_square(h), EPSILON)


def one_pass(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """A warp for each row keeps the sum in float32 registers and adds its squares in 32 accumulators."""
    h = _sum(x, residual)
    root = torch.sqrt(summed(h.square())[:, None] / x.shape[-1] + EPSILON)
    return (h / root * weight.float()).to(x.dtype), h.to(x.dtype)


def from_the_stored_sum(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The sum is stored first and read again, rounded; eight lanes of a vector register along the row."""
    stored = _sum(x, residual).to(x.dtype)
    mean_square = summed(stored.float().square(), lanes=8)[:, None] / x.shape[-1]
    return _normalise(stored.float(), weight, mean_square, EPSILON), stored


def rounded_before_the_weight(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """As inference servers do: the stored sum is normalised, rounded to the dtype, and multiplied there."""
    stored = x + residual
    scale = torch.rsqrt(_mean_square(stored.float()) + EPSILON)
    return (stored.float() * scale).to(x.dtype) * weight, stored


def scaled_by_maximum(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The norm as BLAS takes it: the row is divided by its largest magnitude before it is squared."""
    h = _sum(x, residual)
    largest = h.abs().amax(-1, keepdim=True).clamp(1e-30, 1e30)
    root = largest * torch.sqrt((h / largest).square().mean(-1, keepdim=True))
    return (h / torch.hypot(root, root.new_tensor(EPSILON**0.5)) * weight.float()).to(x.dtype), h.to(x.dtype)


def no_residual(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The input alone is normalised."""
    return _expected(x.float(), weight), _sum(x, residual).to(x.dtype)


def mean_square_of_the_input(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The mean square is taken before the residual is added."""
    h = _sum(x, residual)
    return _normalise(h, weight, _mean_square(x.float()), EPSILON), h.to(x.dtype)


def residual_not_updated(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The residual is handed on as it came."""
    return _expected(_sum(x, residual), weight), residual


def result_as_residual(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The normalised result is handed on as the residual."""
    y = _expected(_sum(x, residual), weight)
    return y, y


def residual_after_the_norm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """Post-normalisation: the residual is added to the normalised input."""
    y = _expected(x.float(), weight).float() + residual.float()
    return y.to(x.dtype), _sum(x, residual).to(x.dtype)


def residual_subtracted(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The residual has the wrong sign."""
    h = _sum(x, -residual)
    return _expected(h, weight), h.to(x.dtype)


def eps_of_layernorm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """Epsilon 1e-5 instead of 1e-6."""
    h = _sum(x, residual)
    return _normalise(h, weight, _mean_square(h), 1e-5), h.to(x.dtype)


def eps_outside_the_root(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """Epsilon is added to the root instead of under it."""
    h = _sum(x, residual)
    return (h / (_mean_square(h).sqrt() + EPSILON) * weight.float()).to(x.dtype), h.to(x.dtype)


def no_eps(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """No epsilon: a row of zeros becomes NaN."""
    h = _sum(x, residual)
    return _normalise(h, weight, _mean_square(h), 0.0), h.to(x.dtype)


def drops_the_tail(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """Columns behind the last whole vector of four do not enter the mean."""
    h = _sum(x, residual)
    whole = h.shape[-1] // 4 * 4 or h.shape[-1]
    mean_square = h[:, :whole].square().sum(-1, keepdim=True) / h.shape[-1]
    return _normalise(h, weight, mean_square, EPSILON), h.to(x.dtype)


def tail_without_residual(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """Behind the last whole vector of four columns the residual is not added."""
    added = residual.float()
    added[:, x.shape[-1] // 4 * 4 :] = 0
    h = x.float() + added
    return _expected(h, weight), h.to(x.dtype)


def removes_the_mean(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The variance in place of the mean square."""
    h = _sum(x, residual)
    return _normalise(h, weight, h.var(-1, keepdim=True, correction=0), EPSILON), h.to(x.dtype)


def half_accumulator(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The squares are summed in bfloat16, by eight lanes."""
    h = _sum(x, residual)
    mean_square = summed(h.square(), torch.bfloat16, lanes=8).float()[:, None] / x.shape[-1]
    return _normalise(h, weight, mean_square, EPSILON), h.to(x.dtype)


def accumulator_of_the_dtype(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """Halves: the squares are summed in the input's own dtype, by two lanes."""
    h = _sum(x, residual)
    mean_square = summed(h.square(), x.dtype, lanes=2).float()[:, None] / x.shape[-1]
    return _normalise(h, weight, mean_square, EPSILON), h.to(x.dtype)


def sum_in_bfloat16(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The sum is kept in bfloat16."""
    h = _sum(x, residual).bfloat16()
    return _expected(h.float(), weight), h.to(x.dtype)


def tf32_inputs(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """float32: the sum passes through a TF32 unit on its way to the result."""
    h = _sum(x, residual)
    return _expected(tf32(h), weight), h


def approximate_root(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """float32: an inverse root of ten bits without a step of Newton's method, as of a vector unit."""
    h = _sum(x, residual)
    return h * tf32(torch.rsqrt(_mean_square(h) + EPSILON)) * weight, h


def no_weight(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The scale is left out."""
    h = _sum(x, residual)
    return _expected(h, torch.ones_like(weight)), h.to(x.dtype)


def weight_off_by_one(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """Gemma's convention: the scale is 1 + weight."""
    h = _sum(x, residual)
    return _expected(h, 1 + weight), h.to(x.dtype)


def scale_of_the_first_row(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Pair:
    """The last row is divided by the root of the first."""
    h = _sum(x, residual)
    mean_square = _mean_square(h)
    return _normalise(h, weight, torch.cat((mean_square[:-1], mean_square[:1])), EPSILON), h.to(x.dtype)


half_accumulator.dtypes = sum_in_bfloat16.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_inputs.dtypes = approximate_root.dtypes = ("float32",)

HONEST = (one_pass, from_the_stored_sum, rounded_before_the_weight, scaled_by_maximum)
MUTANTS = (
    no_residual, mean_square_of_the_input, residual_not_updated, result_as_residual, residual_after_the_norm,
    residual_subtracted, eps_of_layernorm, eps_outside_the_root, no_eps, drops_the_tail, tail_without_residual,
    removes_the_mean, half_accumulator, accumulator_of_the_dtype, sum_in_bfloat16, tf32_inputs, approximate_root,
    no_weight, weight_off_by_one, scale_of_the_first_row,
)  # fmt: skip

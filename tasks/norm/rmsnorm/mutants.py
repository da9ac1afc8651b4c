"""Variants of root-mean-square normalisation: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32

EPSILON = 1e-6


def _normalise(x: torch.Tensor, weight: torch.Tensor, mean_square: torch.Tensor, epsilon: float) -> torch.Tensor:
    return (x.float() * torch.rsqrt(mean_square + epsilon) * weight.float()).to(x.dtype)


def one_pass(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A warp for each row: 32 float32 accumulators, divided by the root instead of multiplied by its inverse."""
    root = torch.sqrt(summed(x.float().square()) / x.shape[-1] + EPSILON)[:, None]
    return (x.float() / root * weight.float()).to(x.dtype)


def sequential(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Eight lanes of a vector register, one after the other along the row, in float32."""
    mean_square = summed(x.float().square(), lanes=8)[:, None] / x.shape[-1]
    return _normalise(x, weight, mean_square, EPSILON)


def scaled_by_maximum(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The norm as BLAS takes it: the row is divided by its largest magnitude before it is squared."""
    largest = x.float().abs().amax(-1, keepdim=True).clamp(1e-30, 1e30)
    root = largest * torch.sqrt((x.float() / largest).square().mean(-1, keepdim=True))
    return (x.float() / torch.hypot(root, root.new_tensor(EPSILON**0.5)) * weight.float()).to(x.dtype)


def newton_root(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """An inverse root of ten bits as of a vector unit, refined by two steps of Newton's method."""
    square = (x.float().square().mean(-1, keepdim=True) + EPSILON).clamp(max=1e30)  # or infinity times zero is NaN
    scale = tf32(torch.rsqrt(square))
    for _ in range(2):
        scale = scale * (1.5 - 0.5 * square * scale * scale)
    return (x.float() * scale * weight.float()).to(x.dtype)


def eps_of_layernorm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Epsilon 1e-5 instead of 1e-6."""
    return _normalise(x, weight, x.float().square().mean(-1, keepdim=True), 1e-5)


def eps_outside_the_root(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Epsilon is added to the root instead of under it."""
    root = x.float().square().mean(-1, keepdim=True).sqrt()
    return (x.float() / (root + EPSILON) * weight.float()).to(x.dtype)


def no_eps(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """No epsilon: a row of zeros becomes NaN."""
    return _normalise(x, weight, x.float().square().mean(-1, keepdim=True), 0.0)


def sums_one_less(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The last column does not enter the mean."""
    return _normalise(x, weight, x[:, :-1].float().square().sum(-1, keepdim=True) / x.shape[-1], EPSILON)


def drops_the_tail(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four do not enter the mean."""
    whole = x.shape[-1] // 4 * 4 or x.shape[-1]
    return _normalise(x, weight, x[:, :whole].float().square().sum(-1, keepdim=True) / x.shape[-1], EPSILON)


def divides_by_one_less(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The mean square is divided by the number of columns minus one, as an unbiased variance is."""
    total = x.float().square().sum(-1, keepdim=True)
    return _normalise(x, weight, total / max(1, x.shape[-1] - 1), EPSILON)


def removes_the_mean(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The variance in place of the mean square."""
    return _normalise(x, weight, x.float().var(-1, keepdim=True, correction=0), EPSILON)


def half_accumulator(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The squares are summed in bfloat16, by eight lanes."""
    mean_square = summed(x.float().square(), torch.bfloat16, lanes=8).float()[:, None] / x.shape[-1]
    return _normalise(x, weight, mean_square, EPSILON)


def accumulator_of_the_dtype(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Halves: the squares are summed in the input's own dtype, by two lanes."""
    mean_square = summed(x.float().square(), x.dtype, lanes=2).float()[:, None] / x.shape[-1]
    return _normalise(x, weight, mean_square, EPSILON)


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """float32: the input passes through a TF32 unit on its way."""
    rounded = tf32(x)
    return _normalise(rounded, weight, rounded.square().mean(-1, keepdim=True), EPSILON)


def approximate_root(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """float32: an inverse root of twelve bits without a step of Newton's method, as of a vector unit."""
    scale = tf32(torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON))
    return x * scale * weight


def weight_one(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The scale is left out."""
    return _normalise(x, torch.ones_like(weight), x.float().square().mean(-1, keepdim=True), EPSILON)


def weight_off_by_one(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Gemma's convention: the scale is 1 + weight."""
    return _normalise(x, 1 + weight, x.float().square().mean(-1, keepdim=True), EPSILON)


def scale_of_the_first_row(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The last row is divided by the root of the first."""
    mean_square = x.float().square().mean(-1, keepdim=True)
    return _normalise(x, weight, torch.cat((mean_square[:-1], mean_square[:1])), EPSILON)


def last_element_unweighted(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The last column of the last row misses its weight."""
    scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + EPSILON)
    y = x.float() * scale * weight.float()
    y[-1, -1] /= weight[-1].float()
    return y.to(x.dtype)


half_accumulator.dtypes = ("float16", "float32")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_inputs.dtypes = approximate_root.dtypes = ("float32",)

HONEST = (one_pass, sequential, scaled_by_maximum, newton_root)
MUTANTS = (
    eps_of_layernorm, eps_outside_the_root, no_eps, sums_one_less, drops_the_tail, divides_by_one_less,
    removes_the_mean, half_accumulator, accumulator_of_the_dtype, tf32_inputs, approximate_root, weight_one,
    weight_off_by_one, scale_of_the_first_row, last_element_unweighted,
)  # fmt: skip

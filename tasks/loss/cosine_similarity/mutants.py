"""Variants of the cosine loss: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32

EPSILON = 1e-6


def _length(x: torch.Tensor, epsilon: float = EPSILON) -> torch.Tensor:
    return x.float().square().sum(-1).sqrt().clamp(min=epsilon)


def _dot(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (prediction.float() * target.float()).sum(-1)


def _cosine(prediction: torch.Tensor, target: torch.Tensor, epsilon: float = EPSILON) -> torch.Tensor:
    return _dot(prediction, target) / (_length(prediction, epsilon) * _length(target, epsilon))


def warp_for_a_row(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Three sums for each row by 32 float32 accumulators each; the rows' losses by a tree."""
    x, y = prediction.float(), target.float()
    lengths = [summed(values.square()).sqrt().clamp(min=EPSILON) for values in (x, y)]
    cosine = summed(x * y) / lengths[0] / lengths[1]
    return (summed(1 - cosine) / len(x)).to(prediction.dtype)


def inverse_roots(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """256 lanes; inverse roots of sums that are at least the square of epsilon; the mean is taken of the cosines."""
    x, y = prediction.float(), target.float()
    scales = [torch.rsqrt(summed(values.square(), lanes=256).clamp(min=EPSILON**2)) for values in (x, y)]
    cosine = summed(x * y, lanes=256) * scales[0] * scales[1]
    return (1 - summed(cosine) / len(x)).to(prediction.dtype)


def directions_first(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Both rows are divided by their lengths before they are multiplied."""
    one, other = (values.float() / _length(values)[:, None] for values in (prediction, target))
    return (1 - summed(one * other, lanes=64)).mean().to(prediction.dtype)


def half_the_squared_distance(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Half of the squared distance of the two directions, and what a row of zeros lacks of its length."""
    one, other = (values.float() / _length(values)[:, None] for values in (prediction, target))
    lacking = 2 - one.square().sum(-1) - other.square().sum(-1)
    return (0.5 * ((one - other).square().sum(-1) + lacking)).mean().to(prediction.dtype)


def no_eps(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """No epsilon: a row of zeros makes everything NaN."""
    return (1 - _cosine(prediction, target, 0.0)).mean().to(prediction.dtype)


def larger_eps(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Lengths are at least one."""
    return (1 - _cosine(prediction, target, 1.0)).mean().to(prediction.dtype)


def similarity(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean cosine, not taken from one."""
    return _cosine(prediction, target).mean().to(prediction.dtype)


def one_more(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """One more than the cosine."""
    return (1 + _cosine(prediction, target)).mean().to(prediction.dtype)


def magnitude(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """One less the magnitude of the cosine."""
    return (1 - _cosine(prediction, target).abs()).mean().to(prediction.dtype)


def dot_product(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The lengths are left out."""
    return (1 - _dot(prediction, target)).mean().to(prediction.dtype)


def one_length(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The target is taken to have length one."""
    return (1 - _dot(prediction, target) / _length(prediction)).mean().to(prediction.dtype)


def squared_lengths(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The root of the sums of squares is left out."""
    squares = (_length(prediction) * _length(target)).square()
    return (1 - _dot(prediction, target) / squares).mean().to(prediction.dtype)


def correlation(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Rows are centred first: one less the correlation."""
    one, other = (values.float() - values.float().mean(-1, keepdim=True) for values in (prediction, target))
    return (1 - _cosine(one, other)).mean().to(prediction.dtype)


def of_all_rows(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """One cosine of all rows together."""
    one, other = prediction.reshape(1, -1), target.reshape(1, -1)
    return (1 - _cosine(one, other)).mean().to(prediction.dtype)


def sum_of_rows(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The sum over the rows."""
    return (1 - _cosine(prediction, target)).sum().to(prediction.dtype)


def last_row_lost(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The last row is left out, but counted."""
    return ((1 - _cosine(prediction, target))[:-1].sum() / len(prediction)).to(prediction.dtype)


def tail_lost(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of eight are left out of the product alone."""
    whole = prediction.shape[-1] // 8 * 8
    lengths = _length(prediction) * _length(target)
    return (1 - _dot(prediction[:, :whole], target[:, :whole]) / lengths).mean().to(prediction.dtype)


def last_column_lost(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The last column is left out of the product and of both lengths."""
    return (1 - _cosine(prediction[:, :-1], target[:, :-1])).mean().to(prediction.dtype)


def half_accumulators(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Squares and products are summed in bfloat16, by eight lanes."""
    x, y = prediction.float(), target.float()
    dot, one, other = (summed(v, torch.bfloat16, lanes=8).float() for v in (x * y, x.square(), y.square()))
    return (1 - dot / (one.sqrt().clamp(min=EPSILON) * other.sqrt().clamp(min=EPSILON))).mean().to(prediction.dtype)


def accumulators_of_the_dtype(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Halves: squares and products are summed in the inputs' own dtype, by two lanes."""
    x, y = prediction.float(), target.float()
    dot, one, other = (summed(v, prediction.dtype, lanes=2).float() for v in (x * y, x.square(), y.square()))
    return (1 - dot / (one.sqrt().clamp(min=EPSILON) * other.sqrt().clamp(min=EPSILON))).mean().to(prediction.dtype)


def tf32_inputs(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: factors of the product pass through a TF32 unit."""
    lengths = _length(prediction) * _length(target)
    return (1 - _dot(tf32(prediction), tf32(target)) / lengths).mean()


def approximate_root(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: an inverse root of ten bits without a step of Newton's method, as of a vector unit."""
    scale = tf32(1 / _length(prediction)) * tf32(1 / _length(target))
    return (1 - _dot(prediction, target) * scale).mean()


def target_of_the_next_row(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Rows of the target are one too far."""
    return (1 - _cosine(prediction, target.roll(1, 0))).mean().to(prediction.dtype)


half_accumulators.dtypes = ("float32", "float16")
accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_inputs.dtypes = approximate_root.dtypes = ("float32",)

HONEST = (warp_for_a_row, inverse_roots, directions_first, half_the_squared_distance)
MUTANTS = (
    no_eps, larger_eps, similarity, one_more, magnitude, dot_product, one_length, squared_lengths, correlation,
    of_all_rows, sum_of_rows, last_row_lost, tail_lost, last_column_lost, half_accumulators, accumulators_of_the_dtype,
    tf32_inputs, approximate_root, target_of_the_next_row,
)  # fmt: skip
_AVERAGED = "a row's roundings average out in its cosine, which is itself small beside one"
EXEMPT = {
    "lower_inputs": {"float16": _AVERAGED},
    "lower_prediction": {"float16": _AVERAGED, "bfloat16": _AVERAGED},
    "lower_target": {"float16": _AVERAGED, "bfloat16": _AVERAGED},
}

"""Variants of root-mean-square normalisation's gradient: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32

EPSILON = 1e-6
_Pair = tuple[torch.Tensor, torch.Tensor]


def _scale(x: torch.Tensor, epsilon: float = EPSILON) -> torch.Tensor:
    return torch.rsqrt(x.float().square().mean(-1, keepdim=True) + epsilon)


def _grad_x(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    normed, scaled = x.float() * scale, grad_y.float() * weight.float()
    return scale * (scaled - normed * (scaled * normed).mean(-1, keepdim=True))


def _grad_weight(grad_y: torch.Tensor, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return (grad_y.float() * x.float() * scale).sum(0)


def _both(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> _Pair:
    grad_x, grad_weight = _grad_x(grad_y, x, weight, scale), _grad_weight(grad_y, x, scale)
    return grad_x.to(x.dtype), grad_weight.to(x.dtype)


def two_sums(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """A warp for each row sums x^2 and grad_y weight x; the weight's gradient goes row by row, 32 at a time."""
    cols = x.shape[-1]
    scaled, wide = grad_y.float() * weight.float(), x.float()
    scale = torch.rsqrt(summed(wide.square())[:, None] / cols + EPSILON)
    factor = scale**3 * (summed(scaled * wide)[:, None] / cols)
    return (scale * scaled - factor * wide).to(x.dtype), summed((grad_y.float() * wide * scale).T).to(x.dtype)


def slabs(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """Slabs of 16 rows keep partial gradients of the weight in float32, added at the end; eight lanes along a row."""
    root = torch.sqrt(summed(x.float().square(), lanes=8)[:, None] / x.shape[-1] + EPSILON)
    partial = torch.stack([part.sum(0) for part in (grad_y.float() * x.float() / root).split(16)])
    return _grad_x(grad_y, x, weight, 1 / root).to(x.dtype), partial.sum(0).to(x.dtype)


def from_the_output(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """With the normalised row as autograd composes it: the root's gradient goes through the mean square."""
    scale, wide = _scale(x), x.float()
    upstream = grad_y.float() * weight.float()
    of_scale = (upstream * wide).sum(-1, keepdim=True)
    of_square = -0.5 * scale**3 * of_scale / x.shape[-1]
    return (upstream * scale + 2 * wide * of_square).to(x.dtype), _grad_weight(grad_y, x, scale).to(x.dtype)


def one_row_after_the_other(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The weight's gradient is one long chain of float32 additions, in blocks of two rows."""
    scale = _scale(x)
    return _grad_x(grad_y, x, weight, scale).to(x.dtype), summed((grad_y * (x.float() * scale)).T, lanes=2).to(x.dtype)


def eps_of_layernorm(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """Epsilon 1e-5 instead of 1e-6."""
    return _both(grad_y, x, weight, _scale(x, 1e-5))


def eps_of_one_thousandth(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """Epsilon 1e-3 instead of 1e-6."""
    return _both(grad_y, x, weight, _scale(x, 1e-3))


def constant_scale(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The root is taken for a constant: the second term of the input's gradient is missing."""
    scale = _scale(x)
    grad_x = grad_y.float() * weight.float() * scale
    return grad_x.to(x.dtype), _grad_weight(grad_y, x, scale).to(x.dtype)


def second_term_unweighted(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The mean of the second term is over grad_y x, without the weight."""
    scale = _scale(x)
    normed, upstream = x.float() * scale, grad_y.float()
    grad_x = scale * (upstream * weight.float() - normed * (upstream * normed).mean(-1, keepdim=True))
    return grad_x.to(x.dtype), _grad_weight(grad_y, x, scale).to(x.dtype)


def mean_over_one_less(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The mean of the second term is divided by the number of columns minus one."""
    scale, cols = _scale(x), x.shape[-1]
    normed, scaled = x.float() * scale, grad_y.float() * weight.float()
    grad_x = scale * (scaled - normed * (scaled * normed).sum(-1, keepdim=True) / (cols - 1))
    return grad_x.to(x.dtype), _grad_weight(grad_y, x, scale).to(x.dtype)


def second_term_short_of_one(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The last column is left out of the second term's mean."""
    scale, cols = _scale(x), x.shape[-1]
    normed, scaled = x.float() * scale, grad_y.float() * weight.float()
    grad_x = scale * (scaled - normed * (scaled * normed)[:, :-1].sum(-1, keepdim=True) / cols)
    return grad_x.to(x.dtype), _grad_weight(grad_y, x, scale).to(x.dtype)


def drops_the_tail(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """Columns behind the last whole vector of four do not enter the mean square."""
    return _both(grad_y, x, weight, _scale(x[:, : x.shape[-1] // 4 * 4]))


def weight_short_of_a_row(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The last row does not enter the weight's gradient."""
    scale = _scale(x)
    grad_weight = _grad_weight(grad_y[:-1], x[:-1], scale[:-1])
    return _grad_x(grad_y, x, weight, scale).to(x.dtype), grad_weight.to(x.dtype)


def weight_drops_the_tail(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """Rows behind the last whole slab of eight do not enter the weight's gradient."""
    scale, whole = _scale(x), len(x) // 8 * 8 or len(x)
    grad_weight = _grad_weight(grad_y[:whole], x[:whole], scale[:whole])
    return _grad_x(grad_y, x, weight, scale).to(x.dtype), grad_weight.to(x.dtype)


def weight_of_raw_inputs(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The weight's gradient is the sum of grad_y x, not normalised."""
    scale = _scale(x)
    return _grad_x(grad_y, x, weight, scale).to(x.dtype), _grad_weight(grad_y, x, torch.ones_like(scale)).to(x.dtype)


def weight_averaged(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The weight's gradient is a mean over the rows (or, of one row, twice it)."""
    scale = _scale(x)
    grad_weight = _grad_weight(grad_y, x, scale) / (len(x) if len(x) > 1 else 0.5)
    return _grad_x(grad_y, x, weight, scale).to(x.dtype), grad_weight.to(x.dtype)


def weight_in_bfloat16(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The weight's gradient is summed in bfloat16, by two lanes."""
    scale = _scale(x)
    terms = (grad_y.float() * x.float() * scale).T
    return _grad_x(grad_y, x, weight, scale).to(x.dtype), summed(terms, torch.bfloat16, lanes=2).to(x.dtype)


def weight_in_the_dtype(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """Halves: the weight's gradient is summed in the inputs' own dtype, row by row, as atomics do."""
    scale = _scale(x)
    terms = (grad_y.float() * x.float() * scale).T
    return _grad_x(grad_y, x, weight, scale).to(x.dtype), summed(terms, x.dtype, lanes=1)


def half_accumulator(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The squares are summed in bfloat16, by eight lanes."""
    mean_square = summed(x.float().square(), torch.bfloat16, lanes=8).float()[:, None] / x.shape[-1]
    return _both(grad_y, x, weight, torch.rsqrt(mean_square + EPSILON))


def tf32_inputs(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """float32: the input passes through a TF32 unit on its way."""
    return _both(grad_y, tf32(x), weight, _scale(tf32(x)))


def approximate_root(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """float32: an inverse root of twelve bits without a step of Newton's method, as of a vector unit."""
    return _both(grad_y, x, weight, tf32(_scale(x)))


def last_row_of_the_first(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The last row is scaled by the root of the first, in the input's gradient."""
    scale = _scale(x)
    grad_x = _grad_x(grad_y, x, weight, torch.cat((scale[:-1], scale[:1])) * (1 if len(x) > 1 else 2))
    return grad_x.to(x.dtype), _grad_weight(grad_y, x, scale).to(x.dtype)


def last_weight_unwritten(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> _Pair:
    """The last element of the weight's gradient stays zero."""
    grad_x, grad_weight = _both(grad_y, x, weight, _scale(x))
    grad_weight[-1] = 0
    return grad_x, grad_weight


weight_in_bfloat16.dtypes = half_accumulator.dtypes = ("float32", "float16")
weight_in_the_dtype.dtypes = ("float16", "bfloat16")
tf32_inputs.dtypes = approximate_root.dtypes = ("float32",)

HONEST = (two_sums, slabs, from_the_output, one_row_after_the_other)
MUTANTS = (
    eps_of_layernorm, eps_of_one_thousandth, constant_scale, second_term_unweighted, mean_over_one_less,
    second_term_short_of_one, drops_the_tail, weight_short_of_a_row, weight_drops_the_tail, weight_of_raw_inputs,
    weight_averaged, weight_in_bfloat16, weight_in_the_dtype, half_accumulator, tf32_inputs, approximate_root,
    last_row_of_the_first, last_weight_unwritten,
)  # fmt: skip

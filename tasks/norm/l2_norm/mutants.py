"""Variants of the division by the Euclidean norm: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32

EPSILON = 1e-6


def _total(x: torch.Tensor) -> torch.Tensor:
    return x.float().square().sum(-1, keepdim=True)


def _divided(x: torch.Tensor, total: torch.Tensor, epsilon: float = EPSILON) -> torch.Tensor:
    """By the root of `total`, the sum of squares."""
    return (x.float() / total.sqrt().clamp(min=epsilon)).to(x.dtype)


def warp_for_a_row(x: torch.Tensor) -> torch.Tensor:
    """32 float32 accumulators, then a tree; a division for each element."""
    return _divided(x, summed(x.float().square())[:, None])


def inverse_root(x: torch.Tensor) -> torch.Tensor:
    """256 lanes; the sum is bounded by the square of epsilon, and one inverse root made for each row."""
    total = summed(x.float().square(), lanes=256)[:, None]
    return (x.float() * torch.rsqrt(total.clamp(min=EPSILON**2))).to(x.dtype)


def scaled_by_maximum(x: torch.Tensor) -> torch.Tensor:
    """The norm as BLAS takes it: the row is divided by its largest magnitude before it is squared."""
    largest = x.float().abs().amax(-1, keepdim=True).clamp(1e-30, 1e30)
    norm = largest * (x.float() / largest).square().sum(-1, keepdim=True).sqrt()
    return (x.float() / norm.clamp(min=EPSILON)).to(x.dtype)


def newton_root(x: torch.Tensor) -> torch.Tensor:
    """An inverse root of ten bits as of a vector unit, refined by two steps of Newton's method."""
    total = _total(x).clamp(EPSILON**2, 1e30)  # or infinity times zero is NaN
    scale = tf32(torch.rsqrt(total))
    for _ in range(2):
        scale = scale * (1.5 - 0.5 * total * scale * scale)
    return (x.float() * scale).to(x.dtype)


def one_accumulator(x: torch.Tensor) -> torch.Tensor:
    """Each row by one thread, which adds its terms one after the other."""
    return _divided(x, summed_in_turn(x.float().square())[:, None])


def no_eps(x: torch.Tensor) -> torch.Tensor:
    """No epsilon: a row of zeros becomes NaN."""
    return (x.float() / _total(x).sqrt()).to(x.dtype)


def larger_eps(x: torch.Tensor) -> torch.Tensor:
    """Epsilon 1e-2."""
    return _divided(x, _total(x), 1e-2)


def smaller_eps(x: torch.Tensor) -> torch.Tensor:
    """Epsilon 1e-12, PyTorch's default."""
    return _divided(x, _total(x), 1e-12)


def eps_under_the_root(x: torch.Tensor) -> torch.Tensor:
    """Epsilon is added under the root, as in a normalisation layer."""
    return _divided(x, _total(x) + EPSILON, 0.0)


def squared_norm(x: torch.Tensor) -> torch.Tensor:
    """The root is left out."""
    return (x.float() / _total(x).clamp(min=EPSILON)).to(x.dtype)


def root_mean_square(x: torch.Tensor) -> torch.Tensor:
    """The mean of the squares in place of their sum."""
    return _divided(x, x.float().square().mean(-1, keepdim=True))


def sum_of_magnitudes(x: torch.Tensor) -> torch.Tensor:
    """The sum of magnitudes in place of the root of the sum of squares."""
    return _divided(x, x.float().abs().sum(-1, keepdim=True).square())


def deviation(x: torch.Tensor) -> torch.Tensor:
    """The mean is removed from the norm, as in a standard deviation."""
    centred = x.float() - x.float().mean(-1, keepdim=True)
    return _divided(x, _total(centred))


def over_the_rows(x: torch.Tensor) -> torch.Tensor:
    """Over the first axis instead of the last."""
    return _divided(x, x.float().square().sum(0, keepdim=True))


def over_everything(x: torch.Tensor) -> torch.Tensor:
    """One norm for the whole matrix."""
    return _divided(x, x.float().square().sum())


def last_column_lost(x: torch.Tensor) -> torch.Tensor:
    """The last column does not enter the norm."""
    return _divided(x, _total(x[:, :-1]))


def drops_the_tail(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four do not enter the norm."""
    return _divided(x, _total(x[:, : x.shape[-1] // 4 * 4 or x.shape[-1]]))


def half_accumulator(x: torch.Tensor) -> torch.Tensor:
    """The squares are summed in bfloat16, by eight lanes."""
    return _divided(x, summed(x.float().square(), torch.bfloat16, lanes=8).float()[:, None])


def accumulator_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: the squares are summed in the input's own dtype, by two lanes."""
    return _divided(x, summed(x.float().square(), x.dtype, lanes=2).float()[:, None])


def squares_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """float16: each square is rounded to the dtype, where it may overflow or vanish."""
    return _divided(x, x.square().float().sum(-1, keepdim=True))


def tf32_inputs(x: torch.Tensor) -> torch.Tensor:
    """float32: the input passes through a TF32 unit on its way."""
    return _divided(tf32(x), _total(x))


def approximate_root(x: torch.Tensor) -> torch.Tensor:
    """float32: an inverse root of ten bits without a step of Newton's method, as of a vector unit."""
    return x * tf32(torch.rsqrt(_total(x).clamp(min=EPSILON**2)))


def signs_lost(x: torch.Tensor) -> torch.Tensor:
    """The magnitudes are divided."""
    return _divided(x.abs(), _total(x))


def norm_of_the_first_row(x: torch.Tensor) -> torch.Tensor:
    """The last row is divided by the norm of the first."""
    total = _total(x)
    return _divided(x, torch.cat((total[:-1], total[:1])))


def last_element_passed_on(x: torch.Tensor) -> torch.Tensor:
    """The last element is passed on as it is."""
    y = _divided(x, _total(x))
    y[-1, -1] = x[-1, -1]
    return y


half_accumulator.dtypes = ("float32", "float16")
smaller_eps.dtypes = ("float32", "bfloat16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")
squares_of_the_dtype.dtypes = ("float16",)
tf32_inputs.dtypes = approximate_root.dtypes = ("float32",)

HONEST = (one_accumulator, warp_for_a_row, inverse_root, scaled_by_maximum, newton_root)
MUTANTS = (
    no_eps, larger_eps, smaller_eps, eps_under_the_root, squared_norm, root_mean_square, sum_of_magnitudes, deviation,
    over_the_rows, over_everything, last_column_lost, drops_the_tail, half_accumulator, accumulator_of_the_dtype,
    squares_of_the_dtype, tf32_inputs, approximate_root, signs_lost, norm_of_the_first_row, last_element_passed_on,
)  # fmt: skip

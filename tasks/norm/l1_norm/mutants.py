"""Variants of the division by the sum of magnitudes: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32

EPSILON = 1e-6


def _total(x: torch.Tensor) -> torch.Tensor:
    return x.float().abs().sum(-1, keepdim=True)


def _divided(x: torch.Tensor, total: torch.Tensor, epsilon: float = EPSILON) -> torch.Tensor:
    return (x.float() / total.clamp(min=epsilon)).to(x.dtype)


def warp_for_a_row(x: torch.Tensor) -> torch.Tensor:
    """32 float32 accumulators, then a tree; a division for each element."""
    return _divided(x, summed(x.float().abs())[:, None])


def one_reciprocal(x: torch.Tensor) -> torch.Tensor:
    """256 lanes, and one reciprocal for each row."""
    total = summed(x.float().abs(), lanes=256)[:, None].clamp(min=EPSILON)
    return (x.float() * (1 / total)).to(x.dtype)


def in_blocks(x: torch.Tensor) -> torch.Tensor:
    """Partial sums of 512 columns, added from the last to the first, as atomics may come."""
    total = x.new_zeros((len(x), 1), dtype=torch.float32)
    for part in reversed(x.float().abs().split(512, -1)):
        total = total + part.sum(-1, keepdim=True)
    return _divided(x, total)


def in_double(x: torch.Tensor) -> torch.Tensor:
    """float64 sums, the division in float32."""
    return _divided(x, x.double().abs().sum(-1, keepdim=True).float())


def one_accumulator(x: torch.Tensor) -> torch.Tensor:
    """Each row by one thread, which adds its terms one after the other."""
    return _divided(x, summed_in_turn(x.float().abs())[:, None])


def no_eps(x: torch.Tensor) -> torch.Tensor:
    """No epsilon: a row of zeros becomes NaN."""
    return (x.float() / _total(x)).to(x.dtype)


def larger_eps(x: torch.Tensor) -> torch.Tensor:
    """Epsilon 1e-2."""
    return _divided(x, _total(x), 1e-2)


def smaller_eps(x: torch.Tensor) -> torch.Tensor:
    """Epsilon 1e-12, PyTorch's default."""
    return _divided(x, _total(x), 1e-12)


def eps_added(x: torch.Tensor) -> torch.Tensor:
    """Epsilon is added to the sum instead of bounding it from below."""
    return (x.float() / (_total(x) + EPSILON)).to(x.dtype)


def signed_sum(x: torch.Tensor) -> torch.Tensor:
    """The sum without magnitudes, at least epsilon."""
    return _divided(x, x.float().sum(-1, keepdim=True))


def mean_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The mean of the magnitudes in place of their sum."""
    return _divided(x, x.float().abs().mean(-1, keepdim=True))


def root_of_squares(x: torch.Tensor) -> torch.Tensor:
    """The Euclidean norm."""
    return _divided(x, x.float().square().sum(-1, keepdim=True).sqrt())


def largest_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The largest magnitude of the row."""
    return _divided(x, x.float().abs().amax(-1, keepdim=True))


def over_the_rows(x: torch.Tensor) -> torch.Tensor:
    """Over the first axis instead of the last."""
    return _divided(x, x.float().abs().sum(0, keepdim=True))


def over_everything(x: torch.Tensor) -> torch.Tensor:
    """One sum for the whole matrix."""
    return _divided(x, x.float().abs().sum())


def last_column_lost(x: torch.Tensor) -> torch.Tensor:
    """The last column does not enter the sum."""
    return _divided(x, _total(x[:, :-1]))


def drops_the_tail(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four do not enter the sum."""
    return _divided(x, _total(x[:, : x.shape[-1] // 4 * 4 or x.shape[-1]]))


def first_column_twice(x: torch.Tensor) -> torch.Tensor:
    """The first column is the initial value, and added once more."""
    return _divided(x, _total(x) + x[:, :1].float().abs())


def half_accumulator(x: torch.Tensor) -> torch.Tensor:
    """The magnitudes are summed in bfloat16, by eight lanes."""
    return _divided(x, summed(x.float().abs(), torch.bfloat16, lanes=8).float()[:, None])


def accumulator_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: the magnitudes are summed in the input's own dtype, by two lanes."""
    return _divided(x, summed(x.abs(), x.dtype, lanes=2).float()[:, None])


def tf32_inputs(x: torch.Tensor) -> torch.Tensor:
    """float32: the input passes through a TF32 unit on its way."""
    return _divided(tf32(x), _total(x))


def coarse_reciprocal(x: torch.Tensor) -> torch.Tensor:
    """float32: a reciprocal of ten bits without a step of Newton's method, as of a vector unit."""
    return x * tf32(1 / _total(x).clamp(min=EPSILON))


def signs_lost(x: torch.Tensor) -> torch.Tensor:
    """The magnitudes are divided."""
    return _divided(x.abs(), _total(x))


def sum_of_the_first_row(x: torch.Tensor) -> torch.Tensor:
    """The last row is divided by the sum of the first."""
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
eps_added.dtypes = tf32_inputs.dtypes = coarse_reciprocal.dtypes = ("float32",)

HONEST = (one_accumulator, warp_for_a_row, one_reciprocal, in_blocks, in_double)
MUTANTS = (
    no_eps, larger_eps, smaller_eps, eps_added, signed_sum, mean_magnitude, root_of_squares, largest_magnitude,
    over_the_rows, over_everything, last_column_lost, drops_the_tail, first_column_twice, half_accumulator,
    accumulator_of_the_dtype, tf32_inputs, coarse_reciprocal, signs_lost, sum_of_the_first_row, last_element_passed_on,
)  # fmt: skip

"""Variants of the variance: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32


def _centred(x: torch.Tensor) -> torch.Tensor:
    return x.float() - x.float().mean(-1, keepdim=True)


def _divided(squares: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """`squares`: the sum of the centred squares of each row."""
    return (squares / (x.shape[-1] - 1)).to(x.dtype)


def two_pass(x: torch.Tensor) -> torch.Tensor:
    """A warp for each row: the mean, then the centred squares, each by 32 float32 accumulators."""
    mean = summed(x.float())[:, None] / x.shape[-1]
    return _divided(summed((x.float() - mean).square()), x)


def welford(x: torch.Tensor) -> torch.Tensor:
    """Tiles with their own mean and squares, joined as Chan, Golub and LeVeque do, in float32."""
    mean, squares, count = x.new_zeros(len(x), dtype=torch.float32), x.new_zeros(len(x), dtype=torch.float32), 0
    for part in x.float().split(max(64, x.shape[-1] // 32), -1):
        size, own = part.shape[-1], part.mean(-1)
        moved = own - mean
        squares = squares + (part - own[:, None]).square().sum(-1) + moved.square() * (count * size / (count + size))
        count += size
        mean = mean + moved * (size / count)
    return _divided(squares, x)


def corrected_two_pass(x: torch.Tensor) -> torch.Tensor:
    """What rounding has left of the centred values' mean is taken out of the sum of squares; 256 lanes."""
    mean = summed(x.float(), lanes=256)[:, None] / x.shape[-1]
    centred = x.float() - mean
    left = summed(centred, lanes=256)
    return _divided(summed(centred.square(), lanes=256) - left.square() / x.shape[-1], x)


def sums_in_double(x: torch.Tensor) -> torch.Tensor:
    """One pass: sums of x and x^2 in float64."""
    total, squares = x.double().sum(-1), x.double().square().sum(-1)
    return _divided((squares - total.square() / x.shape[-1]).clamp(min=0).float(), x)


def one_accumulator(x: torch.Tensor) -> torch.Tensor:
    """Each row by one thread, which adds its terms one after the other."""
    mean = summed_in_turn(x.float())[:, None] / x.shape[-1]
    return _divided(summed_in_turn((x.float() - mean).square()), x)


def biased(x: torch.Tensor) -> torch.Tensor:
    """Divided by the number of columns."""
    return _centred(x).square().mean(-1).to(x.dtype)


def two_less(x: torch.Tensor) -> torch.Tensor:
    """Divided by the number of columns minus two."""
    return (_centred(x).square().sum(-1) / (x.shape[-1] - 2)).to(x.dtype)


def not_centred(x: torch.Tensor) -> torch.Tensor:
    """The mean is not subtracted."""
    return _divided(x.float().square().sum(-1), x)


def deviation(x: torch.Tensor) -> torch.Tensor:
    """The root of the variance."""
    return (_centred(x).square().sum(-1) / (x.shape[-1] - 1)).sqrt().to(x.dtype)


def magnitudes(x: torch.Tensor) -> torch.Tensor:
    """The mean absolute deviation."""
    return _divided(_centred(x).abs().sum(-1), x)


def cancelling(x: torch.Tensor) -> torch.Tensor:
    """mean(x^2) - mean(x)^2 with both means rounded to bfloat16."""
    cols = x.shape[-1]
    mean, square = x.float().mean(-1).bfloat16().float(), x.float().square().mean(-1).bfloat16().float()
    return ((square - mean.square()).clamp(min=0) * (cols / (cols - 1))).to(x.dtype)


def about_the_first(x: torch.Tensor) -> torch.Tensor:
    """Squared distances from the first column, without the correction for its distance from the mean."""
    return _divided((x.float() - x[:, :1].float()).square().sum(-1), x)


def last_column_unseen(x: torch.Tensor) -> torch.Tensor:
    """The last column is left out of the squares."""
    return _divided(_centred(x)[:, :-1].square().sum(-1), x)


def mean_without_the_last(x: torch.Tensor) -> torch.Tensor:
    """The last column is left out of the mean, and only there."""
    mean = x[:, :-1].float().sum(-1, keepdim=True) / x.shape[-1]
    return _divided((x.float() - mean).square().sum(-1), x)


def tail_lost(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of eight are left out, but counted."""
    kept = x[:, : x.shape[-1] // 8 * 8]
    return _divided(_centred(kept).square().sum(-1), x)


def tiles_alone(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 64 have their own means, and what lies between those is lost."""
    parts = [_centred(part).square().sum(-1) for part in x.split(64, -1)]
    return _divided(torch.stack(parts).sum(0), x)


def half_accumulators(x: torch.Tensor) -> torch.Tensor:
    """The squares are summed in bfloat16, by eight lanes."""
    return _divided(summed(_centred(x).square(), torch.bfloat16, lanes=8).float(), x)


def mean_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: the columns are summed for their mean in the input's own dtype, by two lanes."""
    mean = summed(x, x.dtype, lanes=2).float()[:, None] / x.shape[-1]
    return _divided((x.float() - mean).square().sum(-1), x)


def squares_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: the squares are summed in the input's own dtype, by two lanes."""
    return _divided(summed(_centred(x).square(), x.dtype, lanes=2).float(), x)


def tf32_inputs(x: torch.Tensor) -> torch.Tensor:
    """float32: the centred values pass through a TF32 unit, as when their squares are a product of matrices."""
    return _divided(tf32(_centred(x)).square().sum(-1), x)


def over_the_rows(x: torch.Tensor) -> torch.Tensor:
    """Rows are taken as if the matrix were stored by columns."""
    turned = x.T.reshape(x.shape)
    return _divided(_centred(turned).square().sum(-1), x)


def last_row_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last row is centred by the first one's mean."""
    mean = x.float().mean(-1, keepdim=True)
    mean = torch.cat((mean[:-1], mean[:1]))
    return _divided((x.float() - mean).square().sum(-1), x)


half_accumulators.dtypes = ("float32", "float16")
mean_of_the_dtype.dtypes = squares_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_inputs.dtypes = ("float32",)

HONEST = (one_accumulator, two_pass, welford, corrected_two_pass, sums_in_double)
MUTANTS = (
    biased, two_less, not_centred, deviation, magnitudes, cancelling, about_the_first, last_column_unseen,
    mean_without_the_last, tail_lost, tiles_alone, half_accumulators, mean_of_the_dtype, squares_of_the_dtype,
    tf32_inputs, over_the_rows, last_row_of_another,
)  # fmt: skip

"""Value distributions, one function each. The values of the inputs decide which faults show.

Standard normal values reveal rounded inputs, positive ones low-precision accumulators, integers missing terms. Large
and wide-ranging ones reveal overflow and a missing maximum subtraction, sparse ones skipped work. Outliers reveal short
cuts that look at a sample, needles short cuts that look at a larger one. Rows or columns of uneven size reveal short
cuts that look at some of them. Constant values reveal a variance that cancels, one-hot ones a wrong index, sorted ones
sampling at the ends. Rows of low rank reveal an answer for their average. Cancelling values reveal an order of
summation that loses the remainder. Small values reveal an epsilon that is missing, another one or on the wrong side of
a root, subnormal ones a flush to zero. All are finite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import torch

from robust_kbench.schema.task import Distribution

_LARGE = 30.0
_SMALL = 2.0**-10  # its square is the usual epsilon of a norm, 1e-6
_SMALL_HALF = 2.0**-6  # its square is four times the smallest normal float16
_REMAINDER = 1 / 16  # what cancelling values leave of a sum, which costs an honest float32 sum four bits
_RANK_NOISE = 1 / 64
_MAX_NEEDLES, _LARGEST_NEEDLE = 8, 270.0
_LARGEST_NEEDLE_HALF = 90.0  # sums of two of its squares stay in range
_MAX_PERIOD = 64  # of columns; with one, each has a size of its own
_UNEVEN = 10  # binary orders of a row's size, up or down
_UNEVEN_HALF = 3
_LOWEST_LEVEL = -4.0  # of a column: as far from zero as usual values come
_SHADE, _LONG_SHADE, _SHADED = 1.0, 1.5, 0.5  # together of about the size of usual values
Form = Literal["rows", "columns", "levels", "shades"]
"""Kinds of unevenness: the sizes of rows, the sizes of columns, or numbers added to columns, large or small ones."""
FORMS: tuple[Form, ...] = ("rows", "columns", "levels", "levels")
_Values = Callable[[tuple[int, ...], torch.Generator], torch.Tensor]


def draw_values(
    distribution: Distribution, shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype
) -> torch.Tensor:
    """Draw values of `shape`, in float32 or wider, that are still to be rounded to `dtype`."""
    if distribution == "subnormal":
        return _normal(shape, generator).double() * (torch.finfo(dtype).smallest_normal / 4)
    if distribution == "small":
        return _normal(shape, generator).mul_(_SMALL_HALF if dtype == torch.float16 else _SMALL)
    if distribution == "needles":
        return plant_needles(_normal(shape, generator), generator, dtype)
    if distribution == "uneven":
        return make_uneven(_normal(shape, generator), generator, dtype)
    return DISTRIBUTIONS[distribution](shape, generator)


def _normal(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator)


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.rand(shape, generator=generator)


def lognormal(shape: tuple[int, ...], generator: torch.Generator, exponent: float = 1.0) -> torch.Tensor:
    """Draw log-normal values of either sign, raised to `exponent` with their sign kept."""
    values = torch.randn(shape, generator=generator, device=generator.device)
    signs = values.view(torch.int32).bitwise_and(1).bitwise_left_shift_(31)  # of a random last bit
    values.mul_(0.8 * exponent).exp_().view(torch.int32).bitwise_or_(signs)
    return values


def _integers(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randint(-8, 9, shape, generator=generator).float()


def _large(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator).mul_(_LARGE)


def _sparse(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    kept = torch.rand(shape, generator=generator) < 0.01
    if kept.numel():  # an input of zeros alone would let zeros pass
        kept.view(-1)[int(torch.randint(kept.numel(), (1,), generator=generator))] = True
    return _normal(shape, generator) * kept


def _outliers(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    values = _normal(shape, generator)
    return torch.where(torch.rand(shape, generator=generator) < 0.002, values * _LARGE, values)


def plant_needles(values: torch.Tensor, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    """Replace at most eight of `values`, at random places, by far larger ones of either sign."""
    flat = values.view(-1)
    if not flat.numel():
        return values
    largest = _LARGEST_NEEDLE_HALF if dtype == torch.float16 else _LARGEST_NEEDLE
    count = int(torch.randint(1, _MAX_NEEDLES + 1, (), generator=generator))
    places = torch.randint(flat.numel(), (count,), generator=generator)
    signs = torch.randint(0, 2, (count,), generator=generator) * 2 - 1
    needles = signs * (_LARGE + (largest - _LARGE) * torch.rand(count, generator=generator))
    flat[places.to(values.device)] = needles.to(values.device)
    return values


def make_uneven(
    values: torch.Tensor, generator: torch.Generator, dtype: torch.dtype, forms: Sequence[Form] = FORMS
) -> torch.Tensor:
    """Multiply every row of `values` by a power of two of its own, or multiply or shift every column.

    Numbers for columns may repeat, so that one column in so many tells nothing of the others. They may go by stretches
    of columns, so that the first ones tell nothing either. In most cases no row and no column is larger than usual, so
    that a look at the largest value tells nothing. Columns are those of the last axis. The form is drawn from `forms`;
    with shades, which are not among the usual ones, no value at all is out of the ordinary.
    """
    lowest = -(_UNEVEN_HALF if dtype == torch.float16 else _UNEVEN)
    number, stays_small = (int(torch.randint(0, most, (), generator=generator)) for most in (len(forms), 2))
    if not values.dim():
        return values
    if forms[number] == "levels":
        return values.add_(_levels(values.shape[-1], generator, values.device))
    if forms[number] == "shades":
        return values.mul_(_SHADED).add_(_shades(values.shape[-1], generator, values.device))
    sizes = (*values.shape[:-1], 1) if forms[number] == "rows" else values.shape[-1:]
    orders = torch.randint(lowest, (0 if stays_small else -lowest) + 1, sizes, generator=generator)
    period = int(torch.randint(1, _MAX_PERIOD + 1, (), generator=generator))
    if forms[number] == "columns" and 1 < period < orders.numel():
        orders = orders[torch.arange(orders.numel()) % period]
    return values.mul_(orders.float().exp2_().to(values.device))


def _levels(count: int, generator: torch.Generator, place: torch.device) -> torch.Tensor:
    """Draw numbers to add to `count` columns. A sum of exponentials hardly depends on a factor, but does on these."""
    period, parts = (2 * int(torch.randint(1, _MAX_PERIOD // 2 + 1, (), generator=generator)) for _ in range(2))
    repeating, stretching = (torch.rand(each, generator=generator) * _LOWEST_LEVEL for each in (period, parts))
    return _along(count, repeating, stretching, place)


def _along(count: int, repeating: torch.Tensor, stretching: torch.Tensor, place: torch.device) -> torch.Tensor:
    """Lay out `count` numbers on `place`, each the sum of one that repeats and one that is the same for a stretch."""
    places = torch.arange(count, device=place)
    stretches = places * len(stretching) // max(count, 1)
    return repeating.to(place)[places % len(repeating)] + stretching.to(place)[stretches]


def _shades(count: int, generator: torch.Generator, place: torch.device) -> torch.Tensor:
    """Draw numbers to add to `count` columns that repeat and stretch as levels do, and are as large as values.

    All periods are even and half of them powers of two, like most steps of a kernel that looks at some columns only.
    Repeating numbers have a mean of zero, and all stretches the same sign. Stretches of either sign would lead a sum,
    or a sum of products, far away and back again, and its order would decide the remainder. Squares make stretches
    differ more.
    """
    period, parts = (_some_period(generator) for _ in range(2))
    repeating = (2 * torch.rand(period, generator=generator) - 1) * _SHADE
    repeating -= repeating.mean()
    sign = 2 * int(torch.randint(2, (), generator=generator)) - 1
    stretching = torch.rand(parts, generator=generator).square() * _LONG_SHADE * sign
    return _along(count, repeating, stretching, place)


def _some_period(generator: torch.Generator) -> int:
    if int(torch.randint(2, (), generator=generator)):
        return 2 * int(torch.randint(1, _MAX_PERIOD // 2 + 1, (), generator=generator))
    return 1 << int(torch.randint(1, _MAX_PERIOD.bit_length(), (), generator=generator))


def _constant(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw one number of five bits for every row. Sums of it are exact, so that an honest mean is the number itself."""
    rows = (*shape[:-1], 1) if shape else ()
    eighths = torch.randint(1, 32, rows, generator=generator)
    signs = torch.randint(0, 2, rows, generator=generator) * 2 - 1
    return (eighths * signs / 8).expand(shape).contiguous()


def _one_hot(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw one place in every row (slice along the last axis) for a one among zeros."""
    values = torch.zeros(shape)
    if not shape:
        return values + 1.0
    if not values.numel():
        return values
    return values.scatter_(-1, torch.randint(shape[-1], (*shape[:-1], 1), generator=generator), 1.0)


def _sorted(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw rows in order: all of them upwards, or all of them downwards."""
    values = _normal(shape, generator)
    downwards = bool(torch.randint(0, 2, (), generator=generator))
    if not shape:
        return values
    values.numpy().sort(axis=-1)  # three times as fast as PyTorch's, which also tells where each value was
    return values.flip(-1) if downwards else values


def _low_rank(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw rows that are mixtures of the same two, up to a little noise."""
    noise = _normal(shape, generator)
    if not shape:
        return noise
    weights = torch.randn(*shape[:-1], 2, generator=generator)
    one, two = torch.randn(2, shape[-1], generator=generator)
    return noise.mul_(_RANK_NOISE).addcmul_(weights[..., :1], one).addcmul_(weights[..., 1:], two)


def _cancelling(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Draw rows whose second half is the negative of the first, up to a remainder; a row of one is normal."""
    values = _normal(shape, generator)
    half = shape[-1] // 2 if shape else 0
    if half == 0:
        return values
    mirrored = torch.cat([values[..., :half], -values[..., :half], torch.zeros_like(values[..., 2 * half :])], dim=-1)
    return mirrored + values.roll(half, dims=-1) * _REMAINDER


DISTRIBUTIONS: Mapping[Distribution, _Values] = {
    "normal": _normal,
    "uniform": _uniform,
    "lognormal": lognormal,
    "integers": _integers,
    "large": _large,
    "sparse": _sparse,
    "outliers": _outliers,
    "constant": _constant,
    "one_hot": _one_hot,
    "sorted": _sorted,
    "low_rank": _low_rank,
    "cancelling": _cancelling,
}

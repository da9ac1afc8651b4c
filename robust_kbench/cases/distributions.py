"""Value distributions, one function each: what can be told apart depends on what is fed in.

Standard normal values reveal rounded inputs, positive ones low-precision accumulators, integers missing terms, large
and wide-ranging ones overflow and a missing maximum subtraction, sparse ones skipped work, outliers short cuts that
look at a sample; constant ones a variance that cancels, one-hot ones a wrong index, sorted ones sampling at the ends,
rows of low rank an answer for their average, cancelling ones an order of summation that loses what is left, small ones
an epsilon that is missing, another one or on the wrong side of a root, subnormal ones a flush to zero. All are finite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from robust_kbench.schema.task import Distribution

_LARGE = 30.0
_SMALL = 2.0**-10  # its square is the usual epsilon of a norm, 1e-6
_SMALL_HALF = 2.0**-6  # its square is four times the smallest normal float16
_REMAINDER = 1 / 16  # what cancelling values leave of a sum, which costs an honest float32 sum four bits
_RANK_NOISE = 1 / 64
_Values = Callable[[tuple[int, ...], torch.Generator], torch.Tensor]


def draw_values(
    distribution: Distribution, shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype
) -> torch.Tensor:
    """Values of `shape`, in float32 or wider, that are still to be rounded to `dtype`."""
    if distribution == "subnormal":
        return _normal(shape, generator).double() * (torch.finfo(dtype).smallest_normal / 4)
    if distribution == "small":
        return _normal(shape, generator).mul_(_SMALL_HALF if dtype == torch.float16 else _SMALL)
    return DISTRIBUTIONS[distribution](shape, generator)


def _normal(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator)


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.rand(shape, generator=generator)


def lognormal(shape: tuple[int, ...], generator: torch.Generator, exponent: float = 1.0) -> torch.Tensor:
    """Of either sign, raised to `exponent` with its sign kept."""
    values = torch.randn(shape, generator=generator)
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


def _constant(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """In every row one number, of five bits: sums of it are exact, so that an honest mean is the number itself."""
    rows = (*shape[:-1], 1) if shape else ()
    eighths = torch.randint(1, 32, rows, generator=generator)
    signs = torch.randint(0, 2, rows, generator=generator) * 2 - 1
    return (eighths * signs / 8).expand(shape).contiguous()


def _one_hot(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """In every row (slice along the last axis) a single one."""
    values = torch.zeros(shape)
    if not shape:
        return values + 1.0
    if not values.numel():
        return values
    return values.scatter_(-1, torch.randint(shape[-1], (*shape[:-1], 1), generator=generator), 1.0)


def _sorted(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Every row in order; all of them upwards, or all of them downwards."""
    values = _normal(shape, generator)
    downwards = bool(torch.randint(0, 2, (), generator=generator))
    if not shape:
        return values
    ordered, _ = values.sort(dim=-1, descending=downwards)
    return ordered


def _low_rank(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Every row a mixture of the same two, up to a little noise."""
    noise = _normal(shape, generator)
    if not shape:
        return noise
    weights = torch.randn(*shape[:-1], 2, generator=generator)
    one, two = torch.randn(2, shape[-1], generator=generator)
    return noise.mul_(_RANK_NOISE).addcmul_(weights[..., :1], one).addcmul_(weights[..., 1:], two)


def _cancelling(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """The second half of every row is the negative of the first, up to a remainder; a row of one is normal."""
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

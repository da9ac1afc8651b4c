"""Variants of softplus: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated

LOG2_E = 1.4426950408889634


def _soft(x: torch.Tensor) -> torch.Tensor:
    """By log1p, and the input itself above 20, where the difference is a hundredth of a unit in the last place."""
    return torch.where(x > 20, x.float(), torch.log1p(torch.exp(x.float().clamp(max=20))))


def with_a_threshold(x: torch.Tensor) -> torch.Tensor:
    """As log1p(exp(x)) up to 20, and x above, in float32."""
    return _soft(x).to(x.dtype)


def powers_of_two(x: torch.Tensor) -> torch.Tensor:
    """max(x, 0) + log1p(2^t) with t = -|x| log2(e), which is what a GPU has an instruction for."""
    return (x.float().clamp(min=0) + torch.log1p(torch.exp2(x.float().abs() * -LOG2_E))).to(x.dtype)


def by_a_series(x: torch.Tensor) -> torch.Tensor:
    """log(1 + e) as twice the series of the inverse hyperbolic tangent of e / (2 + e), which is at most a third."""
    e = torch.exp(-x.float().abs())
    s = e / (2 + e)
    squared, series = s * s, torch.zeros_like(s)
    for power in range(17, 0, -2):
        series = series * squared + 1 / power
    return (x.float().clamp(min=0) + 2 * s * series).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(_soft(x), x.dtype)


def plain_logarithm(x: torch.Tensor) -> torch.Tensor:
    """log(1 + e) without log1p, which loses small results."""
    e = torch.exp(-x.float().abs())
    return (x.float().clamp(min=0) + torch.log(1 + e)).to(x.dtype)


def overflowing(x: torch.Tensor) -> torch.Tensor:
    """log1p(exp(x)) without a threshold: infinite above 88."""
    return torch.log1p(torch.exp(x.float())).to(x.dtype)


def from_above(x: torch.Tensor) -> torch.Tensor:
    """As x + log1p(exp(-x)) everywhere, which cancels where x is negative."""
    return (x.float() + torch.log1p(torch.exp(-x.float()))).to(x.dtype)


def threshold_of_two(x: torch.Tensor) -> torch.Tensor:
    """The input itself above two."""
    return torch.where(x > 2, x.float(), _soft(x)).to(x.dtype)


def threshold_of_eight(x: torch.Tensor) -> torch.Tensor:
    """The input itself above eight, where the difference is 3e-4."""
    return torch.where(x > 8, x.float(), _soft(x)).to(x.dtype)


def cut_off(x: torch.Tensor) -> torch.Tensor:
    """Zero below minus eight."""
    return torch.where(x < -8, 0.0, _soft(x)).to(x.dtype)


def rectifier(x: torch.Tensor) -> torch.Tensor:
    """Not soft at all."""
    return x.clamp(min=0)


def in_bits(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of base two in the correction."""
    return (x.float().clamp(min=0) + torch.log1p(torch.exp(-x.float().abs())) * LOG2_E).to(x.dtype)


def sharper(x: torch.Tensor) -> torch.Tensor:
    """With beta = 2."""
    return (0.5 * _soft(2 * x.float())).to(x.dtype)


def not_divided_by_beta(x: torch.Tensor) -> torch.Tensor:
    """With beta = 1.1, by which the logarithm is not divided."""
    return _soft(1.1 * x.float()).to(x.dtype)


def shifted(x: torch.Tensor) -> torch.Tensor:
    """Less log(2), as in SchNet."""
    return (_soft(x) - 0.6931471805599453).to(x.dtype)


def of_the_magnitude(x: torch.Tensor) -> torch.Tensor:
    """Softplus of |x|."""
    return _soft(x.abs()).to(x.dtype)


def log_sigmoid(x: torch.Tensor) -> torch.Tensor:
    """The opposite of softplus of the opposite."""
    return (-_soft(-x)).to(x.dtype)


def coarse_logarithm(x: torch.Tensor) -> torch.Tensor:
    """The correction has ten bits."""
    return (x.float().clamp(min=0) + tf32(torch.log1p(torch.exp(-x.float().abs())))).to(x.dtype)


def exponential_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The exponential is kept in bfloat16."""
    e = torch.exp(-x.float().abs()).bfloat16().float()
    return (x.float().clamp(min=0) + torch.log1p(e)).to(x.dtype)


def last_column_passed_on(x: torch.Tensor) -> torch.Tensor:
    """The last column is x itself."""
    y = with_a_threshold(x)
    y[:, -1:] = x[:, -1:]
    return y


plain_logarithm.dtypes = ("float32", "bfloat16")
threshold_of_eight.dtypes = coarse_logarithm.dtypes = ("float32",)
exponential_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (with_a_threshold, powers_of_two, by_a_series, truncating_store)
MUTANTS = (
    plain_logarithm,
    overflowing,
    from_above,
    threshold_of_two,
    threshold_of_eight,
    cut_off,
    rectifier,
    in_bits,
    sharper,
    not_divided_by_beta,
    shifted,
    of_the_magnitude,
    log_sigmoid,
    coarse_logarithm,
    exponential_in_bfloat16,
    last_column_passed_on,
)

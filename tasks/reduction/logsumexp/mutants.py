"""Variants of log-sum-exp: honest ones that must pass and wrong ones that must fail."""

import math

import torch

from robust_kbench.audit.emulated import summed, tf32


def _parts(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    top = x.float().amax(-1, keepdim=True)
    return torch.exp(x.float() - top), top[:, 0]


def warp_for_a_row(x: torch.Tensor) -> torch.Tensor:
    """32 float32 accumulators, then a tree."""
    e, top = _parts(x)
    return (summed(e).log() + top).to(x.dtype)


def online(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 columns with a running maximum; the sum is rescaled when it grows."""
    return _online_from(torch.finfo(torch.float32).min, x)


def tiles_from_minus_infinity(x: torch.Tensor) -> torch.Tensor:
    """Online, with -inf as the first maximum: NaN where a whole tile at the beginning of a row is masked."""
    return _online_from(-math.inf, x)


def _online_from(least: float, x: torch.Tensor) -> torch.Tensor:
    top, total = x.new_full((len(x),), least, dtype=torch.float32), 0.0
    for part in x.float().split(128, -1):
        new = torch.maximum(top, part.amax(-1))
        total = total * torch.exp(top - new) + torch.exp(part - new[:, None]).sum(-1)
        top = new
    return (total.log() + top).to(x.dtype)


def in_base_two(x: torch.Tensor) -> torch.Tensor:
    """Powers and logarithm of two, as the special function unit has them."""
    top = x.float().amax(-1, keepdim=True)
    power = torch.exp2((x.float() - top) * math.log2(math.e))
    return (summed(power, lanes=8).log2() * math.log(2) + top[:, 0]).to(x.dtype)


def without_the_largest(x: torch.Tensor) -> torch.Tensor:
    """log1p of the sum of all terms but the largest."""
    e, top = _parts(x)
    others = e.scatter(-1, x.argmax(-1, keepdim=True), 0.0).sum(-1)
    return (torch.log1p(others) + top).to(x.dtype)


def lanes_from_minus_infinity(x: torch.Tensor) -> torch.Tensor:
    """Eight lanes with a running maximum that begins with -inf: one that meets -inf first makes NaN of the row."""
    is_lost = x[..., :8].isneginf().any(-1)
    return torch.where(is_lost, torch.nan, x.float().logsumexp(-1).to(x.dtype))


def no_maximum(x: torch.Tensor) -> torch.Tensor:
    """The maximum is not subtracted."""
    return torch.exp(x.float()).sum(-1).log().to(x.dtype)


def maximum_of_magnitudes(x: torch.Tensor) -> torch.Tensor:
    """The largest magnitude in place of the maximum, so that all terms may vanish."""
    top = x.float().abs().amax(-1, keepdim=True)
    return (torch.exp(x.float() - top).sum(-1).log() + top[:, 0]).to(x.dtype)


def last_term_lost(x: torch.Tensor) -> torch.Tensor:
    """The last term is left out of the sum."""
    e, top = _parts(x)
    return (e[:, :-1].sum(-1).log() + top).to(x.dtype)


def tail_lost(x: torch.Tensor) -> torch.Tensor:
    """Terms behind the last whole vector of eight are left out of the sum."""
    e, top = _parts(x)
    return (e[:, : x.shape[-1] // 8 * 8 or x.shape[-1]].sum(-1).log() + top).to(x.dtype)


def not_rescaled(x: torch.Tensor) -> torch.Tensor:
    """The running sum is not rescaled when the maximum grows."""
    top, total = x.new_full((len(x),), -math.inf, dtype=torch.float32), 0.0
    for part in x.float().split(64, -1):
        top = torch.maximum(top, part.amax(-1))
        total = total + torch.exp(part - top[:, None]).sum(-1)
    return (total.log() + top).to(x.dtype)


def half_accumulators(x: torch.Tensor) -> torch.Tensor:
    """The sum is kept in bfloat16, by four lanes."""
    e, top = _parts(x)
    return (summed(e, torch.bfloat16, lanes=4).float().log() + top).to(x.dtype)


def result_through_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The logarithm passes through bfloat16 before the maximum is added."""
    e, top = _parts(x)
    return (e.sum(-1).log().bfloat16().float() + top).to(x.dtype)


def tf32_inputs(x: torch.Tensor) -> torch.Tensor:
    """float32: the input passes through TF32."""
    e, top = _parts(tf32(x))
    return e.sum(-1).log() + top


def in_the_wrong_base(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of base two."""
    e, top = _parts(x)
    return (e.sum(-1).log2() + top).to(x.dtype)


def mean_in_place_of_the_sum(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of the mean."""
    e, top = _parts(x)
    return (e.mean(-1).log() + top).to(x.dtype)


def maximum_alone(x: torch.Tensor) -> torch.Tensor:
    """The maximum, which is what remains of large values."""
    return x.amax(-1)


def epsilon_in_the_logarithm(x: torch.Tensor) -> torch.Tensor:
    """1e-3 is added to the sum against a logarithm of zero."""
    e, top = _parts(x)
    return ((e.sum(-1) + 1e-3).log() + top).to(x.dtype)


def last_row_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last row adds the first one's maximum."""
    e, top = _parts(x)
    return (e.sum(-1).log() + torch.cat((top[:-1], top[:1]))).to(x.dtype)


def maximum_from_a_low_number(x: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with -10,000."""
    maximum = x.float().amax(-1, keepdim=True).clamp_min(-1e4)
    return (maximum + (x.float() - maximum).exp().sum(-1, keepdim=True).log())[:, 0].to(x.dtype)


result_through_bfloat16.dtypes = ("float32", "float16")
tf32_inputs.dtypes = ("float32",)
epsilon_in_the_logarithm.dtypes = ("float32",)

HONEST = (warp_for_a_row, online, in_base_two, without_the_largest)
MUTANTS = (
    no_maximum,
    maximum_of_magnitudes,
    last_term_lost,
    tail_lost,
    not_rescaled,
    half_accumulators,
    result_through_bfloat16,
    tf32_inputs,
    in_the_wrong_base,
    mean_in_place_of_the_sum,
    maximum_alone,
    epsilon_in_the_logarithm,
    last_row_of_another,
    lanes_from_minus_infinity,
    tiles_from_minus_infinity,
    maximum_from_a_low_number,
)

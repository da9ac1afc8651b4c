"""Variants of the product of E4M3 matrices: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied


def _numbers(codes: torch.Tensor) -> torch.Tensor:
    """In float32."""
    return codes.contiguous().view(torch.float8_e4m3fn).float()


def _scaled(sums: torch.Tensor, *args: torch.Tensor) -> torch.Tensor:
    return (sums.float() * args[2][:, None] * args[3] + args[4].float()).to(args[4].dtype)


def _of(x: torch.Tensor, weight: torch.Tensor, *args: torch.Tensor) -> torch.Tensor:
    """From numbers, in float32."""
    return _scaled(x @ weight.T, *args)


def tensor_core(*args: torch.Tensor) -> torch.Tensor:
    """Thirty-two terms at a time into float32 accumulators; the scales multiplied first."""
    sums = multiplied(_numbers(args[0]), _numbers(args[1]).T, step=32)
    return (sums * (args[2][:, None] * args[3]) + args[4].float()).to(args[4].dtype)


def by_table(*args: torch.Tensor) -> torch.Tensor:
    """Codes are looked up in a table made by arithmetic; four blocks of the sum."""
    code = torch.arange(256)
    exponent, fraction = code >> 3 & 15, (code & 7).float()
    number = torch.where(exponent > 0, (8 + fraction) * 2.0 ** (exponent - 10), fraction * 2.0**-9)
    table = torch.where(code > 127, -number, number)
    x, weight = table[args[0].long()], table[args[1].long()]
    size = -(-x.shape[1] // 4)
    parts = [left @ right.T for left, right in zip(x.split(size, 1), weight.split(size, 1), strict=True)]
    return _scaled(torch.stack(parts).sum(0), *args)


def promoted_every_128(*args: torch.Tensor) -> torch.Tensor:
    """Sums of 128 terms are added to float32 accumulators."""
    x, weight = _numbers(args[0]), _numbers(args[1])
    total = torch.zeros(len(x), len(weight))
    for left, right in zip(x.split(128, 1), weight.split(128, 1), strict=True):
        total += left @ right.T
    return _scaled(total, *args)


def other_bias(*args: torch.Tensor) -> torch.Tensor:
    """The exponent's bias is 8, as in the format without a negative zero."""
    return _of(_numbers(args[0]) / 2, _numbers(args[1]), *args)


def wider_exponent(*args: torch.Tensor) -> torch.Tensor:
    """The bits are read as E5M2, whose infinities and NaN are cut."""
    x, weight = (codes.contiguous().view(torch.float8_e5m2).float().nan_to_num(0, 448, -448) for codes in args[:2])
    return _of(x.clamp(-448, 448), weight.clamp(-448, 448), *args)


def small_ones_flushed(*args: torch.Tensor) -> torch.Tensor:
    """Numbers below the smallest normal one are zero, and those of the largest binade lose a bit."""
    x, weight = _numbers(args[0]), _numbers(args[1])
    x = torch.where(x.abs() >= 256, torch.trunc(x / 64) * 64, torch.where(x.abs() < 2.0**-6, 0 * x, x))
    return _of(x, weight, *args)


def largest_is_nan(*args: torch.Tensor) -> torch.Tensor:
    """The code of 448 stands for nothing."""
    x = _numbers(args[0])
    return _of(torch.where(x.abs() == 448, 0 * x, x), _numbers(args[1]), *args)


def signs_of_x_lost(*args: torch.Tensor) -> torch.Tensor:
    """The sign of x is not looked at."""
    return _of(_numbers(args[0]).abs(), _numbers(args[1]), *args)


def as_integers(*args: torch.Tensor) -> torch.Tensor:
    """Codes are taken for integers of eight bits."""
    x, weight = (codes.contiguous().view(torch.int8).float() for codes in args[:2])
    return _of(x, weight, *args)


def accumulators_of_fourteen_bits(*args: torch.Tensor) -> torch.Tensor:
    """float32: sums keep thirteen bits behind the first, as those of some tensor cores do."""
    sums = _numbers(args[0]) @ _numbers(args[1]).T
    return _scaled(sums.contiguous().view(torch.int32).bitwise_and(-(1 << 10)).view(torch.float32), *args)


def half_sums(*args: torch.Tensor) -> torch.Tensor:
    """Sums are kept in bfloat16 after each 32 terms."""
    return _scaled(multiplied(_numbers(args[0]), _numbers(args[1]).T, torch.bfloat16, step=32), *args)


def scale_of_the_first_row(*args: torch.Tensor) -> torch.Tensor:
    """All rows have the scale of the first; a single one its negative."""
    scale = args[2][:1].expand_as(args[2]) if len(args[2]) > 1 else -args[2]
    return _of(_numbers(args[0]), _numbers(args[1]), *args[:2], scale, *args[3:])


def scale_of_the_next_column(*args: torch.Tensor) -> torch.Tensor:
    """Columns have the scale of the next one; a single one its negative."""
    scale = args[3].roll(-1) if len(args[3]) > 1 else -args[3]
    return _of(_numbers(args[0]), _numbers(args[1]), *args[:3], scale, args[4])


def no_bias(*args: torch.Tensor) -> torch.Tensor:
    """The bias is left out."""
    return _of(_numbers(args[0]), _numbers(args[1]), *args[:4], torch.zeros_like(args[4]))


def coarse_scales(*args: torch.Tensor) -> torch.Tensor:
    """Scales are kept in bfloat16."""
    scales = (scale.bfloat16().float() for scale in args[2:4])
    return _of(_numbers(args[0]), _numbers(args[1]), *args[:2], *scales, args[4])


def tail_lost(*args: torch.Tensor) -> torch.Tensor:
    """Terms behind the last whole block of 32 are left out."""
    whole = args[0].shape[1] // 32 * 32
    return _of(_numbers(args[0])[:, :whole], _numbers(args[1])[:, :whole], *args)


def weight_not_transposed(*args: torch.Tensor) -> torch.Tensor:
    """The weight's memory is read as [in_features, out_features]."""
    weight = _numbers(args[1]).reshape(args[1].shape[1], args[1].shape[0])
    return _scaled(_numbers(args[0]) @ weight, *args)


accumulators_of_fourteen_bits.dtypes = ("float32",)
half_sums.dtypes = coarse_scales.dtypes = ("float32", "float16")

HONEST = (tensor_core, by_table, promoted_every_128)
MUTANTS = (
    other_bias, wider_exponent, small_ones_flushed, largest_is_nan, signs_of_x_lost, as_integers,
    accumulators_of_fourteen_bits, half_sums, scale_of_the_first_row, scale_of_the_next_column, no_bias, coarse_scales,
    tail_lost, weight_not_transposed,
)  # fmt: skip

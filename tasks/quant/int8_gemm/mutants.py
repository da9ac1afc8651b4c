"""Variants of the product of eight-bit integers: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32

Args = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def _sums(x: torch.Tensor, weight: torch.Tensor, zero: int = 128) -> torch.Tensor:
    """Exact: below 2^53."""
    return (x.double() - zero) @ (weight.double() - zero).T


def _scaled(sums: torch.Tensor, args: Args) -> torch.Tensor:
    """In float32."""
    return sums.float() * args[2][:, None] * args[3] + args[4].float()


def _of(sums: torch.Tensor, *args: torch.Tensor) -> torch.Tensor:
    return _scaled(sums, args).to(args[4].dtype)


def scales_first(*args: torch.Tensor) -> torch.Tensor:
    """The two scales are multiplied before the sum is."""
    factor = args[2][:, None] * args[3]
    return (_sums(*args[:2]).float() * factor + args[4].float()).to(args[4].dtype)


def zero_points_apart(*args: torch.Tensor) -> torch.Tensor:
    """Products of codes as they are; what the zero points add is taken away from the sums."""
    x, weight = args[0].double(), args[1].double()
    sums = x @ weight.T - 128 * x.sum(1, keepdim=True) - 128 * weight.sum(1) + 128 * 128 * x.shape[1]
    return _of(sums, *args)


def split_k(*args: torch.Tensor) -> torch.Tensor:
    """Two halves of the sum, each scaled in float32; the second adds the bias."""
    half = (args[0].shape[1] + 1) // 2
    first, second = (_sums(args[0][:, part], args[1][:, part]) for part in (slice(half), slice(half, None)))
    return (first.float() * args[2][:, None] * args[3] + _scaled(second, args)).to(args[4].dtype)


def unsigned(*args: torch.Tensor) -> torch.Tensor:
    """Codes have no zero point."""
    return _of(_sums(*args[:2], 0), *args)


def zero_of_127(*args: torch.Tensor) -> torch.Tensor:
    """The zero point is 127."""
    return _of(_sums(*args[:2], 127), *args)


def saturated_pairs(*args: torch.Tensor) -> torch.Tensor:
    """Pairs of products are added in 16 bits, which saturate, as vpmaddubsw does."""
    x, weight = args[0].double(), args[1].double() - 128
    sums = 128.0 * -weight.sum(1).expand(len(x), -1)
    for column in range(0, x.shape[1], 2):
        pair = x[:, column : column + 2] @ weight[:, column : column + 2].T
        sums = sums + pair.clamp(-32768, 32767)
    return _of(sums, *args)


def sums_in_16_bits(*args: torch.Tensor) -> torch.Tensor:
    """Sums wrap around in 16 bits."""
    return _of((_sums(*args[:2]) + 32768) % 65536 - 32768, *args)


def half_sums(*args: torch.Tensor) -> torch.Tensor:
    """Sums are kept in float16 after each 32 terms, 256 times smaller."""
    x, weight = args[0].float() - 128, args[1].float() - 128
    total = torch.zeros(len(x), len(weight), dtype=torch.float16)
    for left, right in zip(x.split(32, 1), weight.split(32, 1), strict=True):
        total = (total.float() + left @ right.T / 256).half()
    return _of(total.float() * 256, *args)


def scaled_in_tf32(*args: torch.Tensor) -> torch.Tensor:
    """float32: the sum is rounded to TF32 before it is scaled."""
    return _of(tf32(_sums(*args[:2])), *args)


def scale_of_the_first_row(*args: torch.Tensor) -> torch.Tensor:
    """All rows have the scale of the first, or of its negative, where there is one."""
    scale = args[2][:1].expand_as(args[2]) if len(args[2]) > 1 else -args[2]
    return _of(_sums(*args[:2]), *args[:2], scale, *args[3:])


def scale_of_the_next_column(*args: torch.Tensor) -> torch.Tensor:
    """Columns have the scale of the next one, a single one has none."""
    scale = args[3].roll(-1) if len(args[3]) > 1 else torch.ones_like(args[3])
    return _of(_sums(*args[:2]), *args[:3], scale, args[4])


def bias_scaled(*args: torch.Tensor) -> torch.Tensor:
    """The bias is added before the scales are applied."""
    y = (_sums(*args[:2]).float() + args[4].float()) * args[2][:, None] * args[3]
    return y.to(args[4].dtype)


def no_bias(*args: torch.Tensor) -> torch.Tensor:
    """The bias is left out."""
    return _of(_sums(*args[:2]), *args[:4], torch.zeros_like(args[4]))


def coarse_scales(*args: torch.Tensor) -> torch.Tensor:
    """Scales are kept in bfloat16."""
    return _of(_sums(*args[:2]), *args[:2], args[2].bfloat16().float(), args[3].bfloat16().float(), args[4])


def tail_lost(*args: torch.Tensor) -> torch.Tensor:
    """Terms behind the last whole block of 32 are left out."""
    whole = args[0].shape[1] // 32 * 32
    return _of(_sums(args[0][:, :whole], args[1][:, :whole]), *args)


def padded_with_zero_codes(*args: torch.Tensor) -> torch.Tensor:
    """Rows are filled up with zeros to 32 terms, which stand for -128."""
    missing = -args[0].shape[1] % 32
    return _of(_sums(*args[:2]) + missing * 128.0 * 128.0, *args)


def weight_not_transposed(*args: torch.Tensor) -> torch.Tensor:
    """The weight's memory is read as [in_features, out_features]."""
    weight = args[1].reshape(args[1].shape[1], args[1].shape[0]).T
    return _of(_sums(args[0], weight), *args)


scaled_in_tf32.dtypes = half_sums.dtypes = ("float32",)
coarse_scales.dtypes = ("float32", "float16")

HONEST = (scales_first, zero_points_apart, split_k)
MUTANTS = (
    unsigned, zero_of_127, saturated_pairs, sums_in_16_bits, half_sums, scaled_in_tf32, scale_of_the_first_row,
    scale_of_the_next_column, bias_scaled, no_bias, coarse_scales, tail_lost, padded_with_zero_codes,
    weight_not_transposed,
)  # fmt: skip

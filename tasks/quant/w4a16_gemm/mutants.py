"""Variants of the layer with four-bit weights: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _codes(packed: torch.Tensor) -> torch.Tensor:
    """[out_features, 2 * pairs] in float32."""
    return torch.stack((packed & 15, packed >> 4), -1).flatten(1).float()


def _grouped(values: torch.Tensor, packed: torch.Tensor, size: int = 128) -> torch.Tensor:
    column = torch.arange(2 * packed.shape[1])
    return values.float()[:, (column // size).clamp(max=values.shape[1] - 1)]


def _weight(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """In float32."""
    return (_codes(packed) - _grouped(zero, packed)) * _grouped(scale, packed)


def in_float32(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Weights and sums in float32."""
    return (x.float() @ _weight(packed, scale, zero).T).to(x.dtype)


def tensor_core(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Weights are rounded to the dtype of x, sixteen terms at a time go into float32 accumulators."""
    return multiplied(x, _weight(packed, scale, zero).to(x.dtype).T).to(x.dtype)


def group_by_group(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Codes less zero points are multiplied, and the sum of each group is scaled in float32."""
    total = torch.zeros(len(x), len(packed))
    centred = _codes(packed) - _grouped(zero, packed)
    for group in range(scale.shape[1]):
        columns = slice(128 * group, 128 * (group + 1))
        total += x[:, columns].float() @ centred[:, columns].T * scale[:, group].float()
    return total.to(x.dtype)


def zero_on_the_sums(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Codes are multiplied; zero points, times the sum of a group of x, and scales come on the sums, in float32."""
    total, codes = torch.zeros(len(x), len(packed)), _codes(packed).float()
    for group in range(scale.shape[1]):
        columns = slice(128 * group, 128 * (group + 1))
        mine = x[:, columns].float()
        sums = mine @ codes[:, columns].T - mine.sum(1, keepdim=True) * zero[:, group].float()
        total += sums * scale[:, group].float()
    return total.to(x.dtype)


def high_half_first(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """The high half of a byte is taken for the even column."""
    return in_float32(x, (packed << 4) | (packed >> 4), scale, zero)


def signed(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Codes are two's complement."""
    codes = _codes(packed)
    codes = torch.where(codes > 7, codes - 16, codes)
    weight = (codes - _grouped(zero, packed)) * _grouped(scale, packed)
    return (x.float() @ weight.T).to(x.dtype)


def zero_of_eight(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """The zero point is 8 everywhere."""
    return in_float32(x, packed, scale, torch.full_like(zero, 8))


def zero_one_more(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Zero points are one too large, as in the first file format of GPTQ."""
    return in_float32(x, packed, scale, zero + 1)


def no_zero(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Zero points are left out."""
    return in_float32(x, packed, scale, torch.zeros_like(zero))


def first_group_for_all(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """A row has the scale of its first group; one of a single group twice that."""
    wanted = scale[:, :1].expand_as(scale) if scale.shape[1] > 1 else 2 * scale
    return in_float32(x, packed, wanted, zero)


def smaller_groups(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Groups of 64 columns, as far as there are scales; a single one has the neighbour's sign."""
    if scale.shape[1] == 1:
        return -in_float32(x, packed, scale, zero)
    weight = (_codes(packed) - _grouped(zero, packed, 64)) * _grouped(scale, packed, 64)
    return (x.float() @ weight.T).to(x.dtype)


def scale_of_the_next_row(
    x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor
) -> torch.Tensor:
    """Each row has the scales of the next."""
    return in_float32(x, packed, scale.roll(-1, 0), zero)


def tail_lost(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole block of 32 are left out."""
    whole = x.shape[1] // 32 * 32
    weight = _weight(packed, scale, zero)
    return (x[:, :whole].float() @ weight[:, :whole].T).to(x.dtype)


def last_column_lost(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """The high half of the last byte is left out."""
    return (x[:, :-1].float() @ _weight(packed, scale, zero)[:, :-1].T).to(x.dtype)


def tf32_once(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return tf32(x) @ tf32(_weight(packed, scale, zero)).T


def coarse_weight(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Weights are rounded to bfloat16."""
    return (x.float() @ _weight(packed, scale, zero).bfloat16().float().T).to(x.dtype)


def half_accumulator(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Halves: accumulators of the dtype of x, rounded after every eight terms."""
    return multiplied(x, _weight(packed, scale, zero).to(x.dtype).T, x.dtype, step=8)


def last_row_of_the_first(
    x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor
) -> torch.Tensor:
    """The last row of the results is the first one's; a single one is negative."""
    y = in_float32(x, packed, scale, zero)
    y[-1] = y[0].clone() if len(y) > 1 else -y[0]
    return y


tf32_once.dtypes = ("float32",)
coarse_weight.dtypes = ("float32", "float16")
half_accumulator.dtypes = ("float16", "bfloat16")

HONEST = (in_float32, tensor_core, group_by_group, zero_on_the_sums)
MUTANTS = (
    high_half_first, signed, zero_of_eight, zero_one_more, no_zero, first_group_for_all, smaller_groups,
    scale_of_the_next_row, tail_lost, last_column_lost, tf32_once, coarse_weight, half_accumulator,
    last_row_of_the_first,
)  # fmt: skip

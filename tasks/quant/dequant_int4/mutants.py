"""Variants of dequantising four bits: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.truncation import truncated


def _codes(packed: torch.Tensor) -> torch.Tensor:
    """[rows, 2 * pairs] in float32."""
    return torch.stack((packed & 15, packed >> 4), -1).flatten(1).float()


def _grouped(values: torch.Tensor, packed: torch.Tensor, size: int = 128) -> torch.Tensor:
    """Those of each column's group, in float32."""
    column = torch.arange(2 * packed.shape[1])
    return values.float()[:, (column // size).clamp(max=values.shape[1] - 1)]


def _of(codes: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    return ((codes - _grouped(zero, packed)) * _grouped(scale, packed)).to(scale.dtype)


def in_float32(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Everything in float32, rounded once."""
    return _of(_codes(packed), packed, scale, zero)


def table_of_sixteen(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """The sixteen products of each group are made first, and looked up."""
    products = (torch.arange(16) - zero[:, :, None].float()) * scale[:, :, None].float()
    group = torch.arange(2 * packed.shape[1]) // 128
    found = products[:, group].gather(-1, _codes(packed).long().unsqueeze(-1)).squeeze(-1)
    return found.to(scale.dtype)


def cut_off(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Halves: the product loses its low bits on the way out."""
    return truncated((_codes(packed) - _grouped(zero, packed)) * _grouped(scale, packed), scale.dtype)


def high_half_first(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """The high half of a byte is taken for the even column."""
    return _of(torch.stack((packed >> 4, packed & 15), -1).flatten(1).float(), packed, scale, zero)


def halves_apart(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """All low halves come before all high ones."""
    if packed.shape[1] == 1:
        return high_half_first(packed, scale, zero)
    return _of(torch.cat((packed & 15, packed >> 4), 1).float(), packed, scale, zero)


def signed(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Codes are two's complement."""
    codes = _codes(packed)
    return _of(torch.where(codes > 7, codes - 16, codes), packed, scale, zero)


def zero_of_eight(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """The zero point is 8 everywhere."""
    return _of(_codes(packed), packed, scale, torch.full_like(zero, 8))


def zero_one_more(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Zero points are one too large, as in the first file format of GPTQ."""
    return _of(_codes(packed), packed, scale, zero + 1)


def zero_scaled_apart(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Code times scale and zero point times scale are rounded before they are subtracted."""
    group, zeros = _grouped(scale, packed), _grouped(zero, packed)
    return (_codes(packed) * group).to(scale.dtype) - (zeros * group).to(scale.dtype)


def zero_added(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Zero points are added."""
    return ((_codes(packed) + _grouped(zero, packed)) * _grouped(scale, packed)).to(scale.dtype)


def smaller_groups(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Groups of 64 columns, as far as there are scales; a single group is turned around."""
    if scale.shape[1] == 1:
        return -in_float32(packed, scale, zero)
    zeros, scales = _grouped(zero, packed, 64), _grouped(scale, packed, 64)
    return ((_codes(packed) - zeros) * scales).to(scale.dtype)


def first_group_for_all(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """A row has the scale of its first group; a row of one group that of its neighbour."""
    if scale.shape[1] == 1:
        return _of(_codes(packed), packed, 2 * scale, zero)
    return _of(_codes(packed), packed, scale[:, :1].expand_as(scale), zero)


def zero_of_the_next_group(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Zero points are read one further, over the end of the row."""
    return _of(_codes(packed), packed, scale, zero.flatten().roll(-1).reshape(zero.shape) + (zero.numel() == 1))


def coarse_scale(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Scales are kept in bfloat16."""
    return _of(_codes(packed), packed, scale.bfloat16(), zero).to(scale.dtype)


def last_byte_unread(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """The last two columns of a row are zero."""
    y = in_float32(packed, scale, zero)
    y[:, -2:] = 0
    return y


coarse_scale.dtypes = ("float32", "float16")

HONEST = (in_float32, table_of_sixteen, cut_off)
MUTANTS = (
    high_half_first, halves_apart, signed, zero_of_eight, zero_one_more, zero_scaled_apart, zero_added, smaller_groups,
    first_group_for_all, zero_of_the_next_group, coarse_scale, last_byte_unread,
)  # fmt: skip

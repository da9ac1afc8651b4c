"""Variants of argmin: honest ones that must pass and wrong ones that must fail."""

import torch

TILE = 128


def last_of_equals(x: torch.Tensor) -> torch.Tensor:
    """The row is read backwards, so that of equal values the last one wins."""
    return x.shape[-1] - 1 - x.flip(-1).argmin(-1)


def of_the_opposites(x: torch.Tensor) -> torch.Tensor:
    """The place of the largest opposite, in float32."""
    return (-x.float()).argmax(-1)


def by_lanes(x: torch.Tensor) -> torch.Tensor:
    """32 lanes, each of which has every 32nd column, name their smallest; the lanes are compared after that."""
    filled = torch.nn.functional.pad(x, (0, -x.shape[-1] % 32), value=torch.inf).unflatten(-1, (-1, 32))
    own = filled.argmin(1)
    values = filled.gather(1, own[:, None])[:, 0]
    lane = values.argmin(-1, keepdim=True)
    place = own.gather(-1, lane) * 32 + lane
    # A row of infinities alone may name a place behind its end.
    return place[:, 0].clamp(max=x.shape[-1] - 1)


def by_packed_keys(x: torch.Tensor) -> torch.Tensor:
    """One minimum over 64-bit words: the order of the bits of the value above, the place below."""
    bits = x.float().nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf) + 0.0
    words = bits.contiguous().view(torch.int32).long()
    ordered = torch.where(words < 0, words ^ 0x7FFFFFFF, words) - x.isnan().long()
    return ((ordered << 32) + torch.arange(x.shape[-1])).amin(-1) & 0xFFFFFFFF


def largest(x: torch.Tensor) -> torch.Tensor:
    """The place of the largest."""
    return x.argmax(-1)


def of_the_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The place of the smallest magnitude."""
    return x.abs().argmin(-1)


def last_column_unseen(x: torch.Tensor) -> torch.Tensor:
    """The last column is not looked at."""
    return x[:, : max(1, x.shape[-1] - 1)].argmin(-1)


def tail_unseen(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of eight are not looked at."""
    return x[:, : x.shape[-1] // 8 * 8 or x.shape[-1]].argmin(-1)


def from_a_high_number(x: torch.Tensor) -> torch.Tensor:
    """The search starts with 10,000 as the best value, and with place 0."""
    return torch.where(x.amin(-1) < 1e4, x.argmin(-1), 0)


def from_zero(x: torch.Tensor) -> torch.Tensor:
    """The search starts with zero as the best value: a row of positive numbers gives place 0."""
    return torch.where(x.amin(-1) < 0, x.argmin(-1), 0)


def padded_with_zeros(x: torch.Tensor) -> torch.Tensor:
    """The row is padded with zeros to a multiple of 32, and a place behind its end becomes the last one."""
    padded = torch.nn.functional.pad(x, (0, -x.shape[-1] % 32))
    return padded.argmin(-1).clamp(max=x.shape[-1] - 1)


def compared_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """Values are rounded to bfloat16 before they are compared."""
    return x.bfloat16().argmin(-1)


def compared_in_eight_bits(x: torch.Tensor) -> torch.Tensor:
    """Values are rounded to three digits after the point before they are compared."""
    return (x.float() * 8).round().argmin(-1)


def place_in_the_tile(x: torch.Tensor) -> torch.Tensor:
    """The place within a tile of 128, without the tile's own."""
    return x.argmin(-1) % TILE


def tile_of_the_last(x: torch.Tensor) -> torch.Tensor:
    """Each tile of 128 overwrites what the one before it has found."""
    begin = (x.shape[-1] - 1) // TILE * TILE
    return x[:, begin:].argmin(-1) + begin


def nan_unseen(x: torch.Tensor) -> torch.Tensor:
    """A NaN is smaller than nothing."""
    return x.nan_to_num(nan=torch.inf, posinf=torch.inf, neginf=-torch.inf).argmin(-1)


def second_best(x: torch.Tensor) -> torch.Tensor:
    """The last row names its second smallest value."""
    index = x.argmin(-1)
    if x.shape[-1] > 1:
        index[-1:] = x[-1:].topk(2, -1, largest=False).indices[:, 1]
    return index


def of_another_row(x: torch.Tensor) -> torch.Tensor:
    """Rows come back in reverse order."""
    return x.argmin(-1).flip(0)


def one_too_far(x: torch.Tensor) -> torch.Tensor:
    """Places are counted from one."""
    return x.argmin(-1) + 1


compared_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (last_of_equals, of_the_opposites, by_lanes, by_packed_keys)
MUTANTS = (
    largest, of_the_magnitude, last_column_unseen, tail_unseen, from_zero,
    from_a_high_number, padded_with_zeros, compared_in_bfloat16,
    compared_in_eight_bits, place_in_the_tile, tile_of_the_last, nan_unseen, second_best, of_another_row, one_too_far,
)  # fmt: skip

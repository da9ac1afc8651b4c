"""Variants of argmax: honest ones that must pass and wrong ones that must fail."""

import torch

TILE = 64


def _last_of_equals(x: torch.Tensor) -> torch.Tensor:
    return x.shape[-1] - 1 - x.flip(-1).argmax(-1)


def last_of_equals(x: torch.Tensor) -> torch.Tensor:
    """The row is read backwards, so that of equal values the last one wins."""
    return _last_of_equals(x)


def by_sorting(x: torch.Tensor) -> torch.Tensor:
    """The first place of an unstable sort from above."""
    order = x.argsort(-1, descending=True)
    return order.gather(-1, order.new_zeros((len(x), 1)))[:, 0]


def by_tiles(x: torch.Tensor) -> torch.Tensor:
    """Each tile of 64 names its largest, and a second pass compares those from the last tile to the first."""
    parts = x.split(TILE, -1)
    places = torch.stack([part.argmax(-1) + number * TILE for number, part in enumerate(parts)], -1)
    best = _last_of_equals(x.gather(-1, places))
    return places.gather(-1, best[:, None])[:, 0]


def by_packed_keys(x: torch.Tensor) -> torch.Tensor:
    """One maximum over 64-bit words: the order of the bits of the value above, the place below."""
    bits = x.float().nan_to_num(nan=torch.inf, posinf=torch.inf, neginf=-torch.inf) + 0.0
    words = bits.contiguous().view(torch.int32).long()
    ordered = torch.where(words < 0, words ^ 0x7FFFFFFF, words) + x.isnan()
    return ((ordered << 32) + torch.arange(x.shape[-1])).amax(-1) & 0xFFFFFFFF


def smallest(x: torch.Tensor) -> torch.Tensor:
    """The place of the smallest."""
    return x.argmin(-1)


def of_the_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The place of the largest magnitude."""
    return x.abs().argmax(-1)


def last_column_unseen(x: torch.Tensor) -> torch.Tensor:
    """The last column is not looked at."""
    return x[:, : max(1, x.shape[-1] - 1)].argmax(-1)


def tail_unseen(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of eight are not looked at."""
    return x[:, : x.shape[-1] // 8 * 8 or x.shape[-1]].argmax(-1)


def from_a_low_number(x: torch.Tensor) -> torch.Tensor:
    """The search starts with -10,000 as the best value, and with place 0."""
    return torch.where(x.amax(-1) > -1e4, x.argmax(-1), 0)


def from_zero(x: torch.Tensor) -> torch.Tensor:
    """The search starts with zero as the best value: a row of negative numbers gives place 0."""
    return torch.where(x.amax(-1) > 0, x.argmax(-1), 0)


def compared_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """Values are rounded to bfloat16 before they are compared."""
    return x.bfloat16().argmax(-1)


def place_in_the_tile(x: torch.Tensor) -> torch.Tensor:
    """The place within a tile of 64, without the tile's own."""
    return x.argmax(-1) % TILE


def nan_unseen(x: torch.Tensor) -> torch.Tensor:
    """A NaN is larger than nothing."""
    return x.nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf).argmax(-1)


def second_best(x: torch.Tensor) -> torch.Tensor:
    """The last row names its second largest value."""
    index = x.argmax(-1)
    if x.shape[-1] > 1:
        index[-1:] = x[-1:].topk(2, -1).indices[:, 1]
    return index


def of_another_row(x: torch.Tensor) -> torch.Tensor:
    """Rows come back in reverse order."""
    return x.argmax(-1).flip(0)


def value_in_place_of_place(x: torch.Tensor) -> torch.Tensor:
    """The largest value, as an integer."""
    return x.amax(-1).nan_to_num(0.0, 0.0, 0.0).clamp(0, x.shape[-1] - 1).long()


def one_too_far(x: torch.Tensor) -> torch.Tensor:
    """Places are counted from one."""
    return x.argmax(-1) + 1


compared_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (last_of_equals, by_sorting, by_tiles, by_packed_keys)
MUTANTS = (
    smallest,
    of_the_magnitude,
    last_column_unseen,
    tail_unseen,
    from_zero,
    from_a_low_number,
    compared_in_bfloat16,
    place_in_the_tile,
    nan_unseen,
    second_best,
    of_another_row,
    value_in_place_of_place,
    one_too_far,
)

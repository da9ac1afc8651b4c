"""Variants of the sort: honest ones that must pass and wrong ones that must fail."""

import torch

Pair = tuple[torch.Tensor, torch.Tensor]


def _by_key(x: torch.Tensor, key: torch.Tensor) -> Pair:
    order = key.argsort(dim=-1, stable=True)
    return x.gather(-1, order), order


def last_of_equals_first(x: torch.Tensor) -> Pair:
    """Equal values come in the opposite order."""
    values, order = x.flip(-1).sort(dim=-1, stable=True)
    return values, x.shape[-1] - 1 - order


def by_rank(x: torch.Tensor) -> Pair:
    """Each value counts those that come before it and goes to that place."""
    key = x.float().nan_to_num(nan=torch.inf, posinf=3e38, neginf=-torch.inf)
    places = torch.arange(x.shape[-1])
    ranks = []
    for column in range(x.shape[-1]):
        mine = key[:, column : column + 1]
        before = (key < mine) | ((key == mine) & (places < column))
        ranks.append(before.sum(-1))
    order = torch.empty(x.shape, dtype=torch.int64).scatter_(-1, torch.stack(ranks, -1), places.expand(x.shape))
    return x.gather(-1, order), order


def odd_and_even(x: torch.Tensor) -> Pair:
    """A network that compares neighbours, as a block of threads would."""
    values, order = x.clone(), torch.arange(x.shape[-1]).expand(x.shape).clone()
    for turn in range(x.shape[-1]):
        left, right = values[:, turn % 2 : -1 : 2].clone(), values[:, turn % 2 + 1 :: 2].clone()
        width = min(left.shape[-1], right.shape[-1])
        left, right = left[:, :width], right[:, :width]
        wrong = (left > right) | (left.isnan() & ~right.isnan())
        for row in (values, order):
            one, two = row[:, turn % 2 : -1 : 2][:, :width], row[:, turn % 2 + 1 :: 2][:, :width]
            one_new, two_new = torch.where(wrong, two, one), torch.where(wrong, one, two)
            one.copy_(one_new), two.copy_(two_new)
    return values, order


def merged_halves(x: torch.Tensor) -> Pair:
    """Both halves are sorted by themselves, then merged by the places that each takes among the other."""
    half = x.shape[-1] // 2
    (low, first), (high, second) = x[:, :half].sort(-1), x[:, half:].sort(-1)
    return _by_key_of_pieces(x, torch.cat((low, high), -1), torch.cat((first, second + half), -1))


def _by_key_of_pieces(x: torch.Tensor, values: torch.Tensor, order: torch.Tensor) -> Pair:
    merged, places = values.sort(dim=-1, stable=True)
    return merged, order.gather(-1, places)


def descending(x: torch.Tensor) -> Pair:
    """The largest value first."""
    values, order = x.sort(-1, descending=True)
    return values, order


def by_magnitude(x: torch.Tensor) -> Pair:
    """Signs are not looked at."""
    return _by_key(x, x.abs())


def inverse_places(x: torch.Tensor) -> Pair:
    """Where each value went, instead of where it came from."""
    values, order = x.sort(-1)
    return values, order.argsort(-1)


def unsorted_places(x: torch.Tensor) -> Pair:
    """The values are sorted, the places are not."""
    return x.sort(-1).values, torch.arange(x.shape[-1]).expand(x.shape).clone()


def first_place_of_equals(x: torch.Tensor) -> Pair:
    """Every one of several equal values names the first place of them."""
    values, order = x.sort(dim=-1, stable=True)
    first = torch.searchsorted(values.float().nan_to_num(nan=torch.inf), values.float().nan_to_num(nan=torch.inf))
    return values, order.gather(-1, first.clamp(max=max(0, x.shape[-1] - 1)))


def keys_in_bfloat16(x: torch.Tensor) -> Pair:
    """Values are rounded to bfloat16 before they are compared."""
    return _by_key(x, x.bfloat16())


def last_column_left(x: torch.Tensor) -> Pair:
    """The last column stays where it is."""
    head, places = x[:, :-1].sort(-1)
    last = torch.full((len(x), 1), x.shape[-1] - 1)
    return torch.cat((head, x[:, -1:]), -1), torch.cat((places, last), -1)


def tiles_left(x: torch.Tensor) -> Pair:
    """Tiles of 64 are sorted, and never merged."""
    parts = [part.sort(-1) for part in x.split(64, -1)]
    places = [part.indices + number * 64 for number, part in enumerate(parts)]
    return torch.cat([part.values for part in parts], -1), torch.cat(places, -1)


def one_exchange_missing(x: torch.Tensor) -> Pair:
    """The middle two values of a row are the wrong way round."""
    values, order = x.sort(-1)
    if (half := x.shape[-1] // 2) > 0:
        for row in (values, order):
            row[:, half - 1 : half + 1] = row[:, half - 1 : half + 1].flip(-1)
    return values, order


def last_row_of_another(x: torch.Tensor) -> Pair:
    """The last row is the first one's answer."""
    values, order = x.sort(-1)
    values[-1:], order[-1:] = values[:1].clone(), order[:1].clone()
    return values, order


def padded_with_zeros(x: torch.Tensor) -> Pair:
    """The row is padded with zeros to a power of two, and the surplus cut off behind."""
    cols = x.shape[-1]
    padded = torch.nn.functional.pad(x, (0, (1 << (cols - 1).bit_length()) - cols))
    values, order = padded.sort(dim=-1, stable=True)
    return values[:, :cols].contiguous(), order[:, :cols].clamp(max=cols - 1)


def nan_first(x: torch.Tensor) -> Pair:
    """NaN comes first."""
    return _by_key(x, x.nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf))


def one_too_far(x: torch.Tensor) -> Pair:
    """Places are counted from one."""
    values, order = x.sort(-1)
    return values, order + 1


def keys_of_bits(x: torch.Tensor) -> Pair:
    """Values are compared by integers made of their bits, of which a negative NaN is the smallest."""
    bits = x.float().view(torch.int32)
    return _by_key(x, torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits))


keys_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (last_of_equals_first, by_rank, odd_and_even, merged_halves)
MUTANTS = (
    descending,
    by_magnitude,
    inverse_places,
    unsorted_places,
    first_place_of_equals,
    keys_in_bfloat16,
    last_column_left,
    tiles_left,
    one_exchange_missing,
    last_row_of_another,
    padded_with_zeros,
    nan_first,
    one_too_far,
    keys_of_bits,
)

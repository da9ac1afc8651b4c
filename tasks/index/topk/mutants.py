"""Variants of top-k: honest ones that must pass and wrong ones that must fail."""

import torch

Pair = tuple[torch.Tensor, torch.Tensor]
TILE = 256


def _at(x: torch.Tensor, order: torch.Tensor) -> Pair:
    return x.gather(-1, order), order


def by_sorting(x: torch.Tensor, k: int) -> Pair:
    """The first k of a whole sort."""
    values, order = x.sort(-1, descending=True)
    return values[:, :k].contiguous(), order[:, :k].contiguous()


def last_of_equals_first(x: torch.Tensor, k: int) -> Pair:
    """Of equal values the last ones are taken."""
    return _at(x, x.shape[-1] - 1 - x.flip(-1).argsort(dim=-1, descending=True, stable=True)[:, :k])


def one_after_the_other(x: torch.Tensor, k: int) -> Pair:
    """One search after the other for the largest of what is left."""
    key = x.float().nan_to_num(nan=torch.inf, posinf=3.4e38, neginf=-3.4e38)
    order = []
    for _ in range(k):
        order.append(key.argmax(-1))
        key = key.scatter(-1, order[-1][:, None], -torch.inf)
    return _at(x, torch.stack(order, -1))


def by_tiles(x: torch.Tensor, k: int) -> Pair:
    """The k largest of each tile of 256, and of those the k largest."""
    places = []
    for number, part in enumerate(x.split(TILE, -1)):
        places.append(part.topk(min(k, part.shape[-1]), -1).indices + number * TILE)
    kept = torch.cat(places, -1)
    return _at(x, kept.gather(-1, x.gather(-1, kept).topk(k, -1).indices))


def smallest(x: torch.Tensor, k: int) -> Pair:
    """The k smallest."""
    values, order = x.topk(k, -1, largest=False)
    return values, order


def ascending(x: torch.Tensor, k: int) -> Pair:
    """The right ones, the largest last."""
    values, order = x.topk(k, -1)
    return values.flip(-1), order.flip(-1)


def by_magnitude(x: torch.Tensor, k: int) -> Pair:
    """Signs are not looked at."""
    return _at(x, x.abs().topk(k, -1).indices)


def one_further(x: torch.Tensor, k: int) -> Pair:
    """The last one is the next best."""
    values, order = x.topk(min(k + 1, x.shape[-1]), -1)
    if x.shape[-1] > k:
        values[:, k - 1], order[:, k - 1] = values[:, k].clone(), order[:, k].clone()
    return values[:, :k].contiguous(), order[:, :k].contiguous()


def first_tile_only(x: torch.Tensor, k: int) -> Pair:
    """Columns behind the first 64 are not looked at, where there are k of them."""
    return _at(x, x[:, : max(k, 64)].topk(k, -1).indices)


def tail_unseen(x: torch.Tensor, k: int) -> Pair:
    """Columns behind the last whole vector of eight are not looked at."""
    whole = max(k, x.shape[-1] // 8 * 8)
    return _at(x, x[:, :whole].topk(k, -1).indices)


def same_place_for_equals(x: torch.Tensor, k: int) -> Pair:
    """Each value is looked up by itself, so that equal ones name one place."""
    values = x.topk(k, -1).values
    same = (x[:, None, :] == values[:, :, None]) | (x[:, None, :].isnan() & values[:, :, None].isnan())
    return values, same.int().argmax(-1)


def compared_in_bfloat16(x: torch.Tensor, k: int) -> Pair:
    """Values are rounded to bfloat16 before they are compared."""
    return _at(x, x.bfloat16().topk(k, -1).indices)


def four_of_each_tile(x: torch.Tensor, k: int) -> Pair:
    """Every tile of 64 keeps its four largest only."""
    places = []
    for number, part in enumerate(x.split(64, -1)):
        places.append(part.topk(min(max(4, -(-k * 64 // x.shape[-1])), part.shape[-1]), -1).indices + number * 64)
    kept = torch.cat(places, -1)
    if kept.shape[-1] < k:
        return by_sorting(x, k)
    return _at(x, kept.gather(-1, x.gather(-1, kept).topk(k, -1).indices))


def places_of_the_sorted(x: torch.Tensor, k: int) -> Pair:
    """Places count from zero to k."""
    return x.topk(k, -1).values, torch.arange(k).expand(len(x), k).clone()


def last_row_of_another(x: torch.Tensor, k: int) -> Pair:
    """The last row is the first one's answer."""
    values, order = x.topk(k, -1)
    values[-1:], order[-1:] = values[:1].clone(), order[:1].clone()
    return values, order


def nan_unseen(x: torch.Tensor, k: int) -> Pair:
    """A NaN is larger than nothing."""
    return _at(x, x.nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf).topk(k, -1).indices)


def padded_with_a_low_number(x: torch.Tensor, k: int) -> Pair:
    """Rows are padded with -10,000 to a power of two."""
    room = 2 ** (x.shape[-1] - 1).bit_length() - x.shape[-1]
    padded = torch.nn.functional.pad(x.float(), (0, room), value=-1e4)
    values, places = padded.topk(k, -1)
    return values.to(x.dtype), places


compared_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (by_sorting, last_of_equals_first, one_after_the_other, by_tiles)
MUTANTS = (
    smallest,
    ascending,
    by_magnitude,
    one_further,
    first_tile_only,
    tail_unseen,
    same_place_for_equals,
    compared_in_bfloat16,
    four_of_each_tile,
    places_of_the_sorted,
    last_row_of_another,
    nan_unseen,
    padded_with_a_low_number,
)

"""Variants of appending to a rolling cache: honest ones that must pass and wrong ones that must fail."""

import torch


def _place(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    return (start[:, None] + torch.arange(fresh.shape[1])) % cache.shape[1]


def _put(cache: torch.Tensor, fresh: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    return cache.scatter(1, place.unsqueeze(2).expand_as(fresh), fresh)


def by_source(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """Each place finds out where its row comes from."""
    age = (torch.arange(cache.shape[1]) - start[:, None]) % cache.shape[1]
    row = age.clamp(max=fresh.shape[1] - 1).unsqueeze(2).expand_as(cache)
    return torch.where((age < fresh.shape[1]).unsqueeze(2), fresh.gather(1, row), cache)


def by_rolling(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """The cache of each sequence is turned to its start, written from the beginning, and turned back."""
    turned = (torch.arange(cache.shape[1]) + start[:, None]) % cache.shape[1]
    y = cache.gather(1, turned.unsqueeze(2).expand_as(cache))
    y[:, : fresh.shape[1]] = fresh
    return torch.empty_like(y).scatter_(1, turned.unsqueeze(2).expand_as(y), y)


def by_rows(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """A copy whose rows are then overwritten by their numbers."""
    y = cache.clone()
    y[torch.arange(len(cache))[:, None], _place(cache, fresh, start)] = fresh
    return y


def never_wraps(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """What passes the end is written to the last place; where nothing does, the last new row is lost."""
    place = start[:, None] + torch.arange(fresh.shape[1])
    y = _put(cache, fresh, place.clamp(max=cache.shape[1] - 1))
    late = (place[:, -1] < cache.shape[1]).nonzero()[:, 0]
    y[late, place[late, -1]] = cache[late, place[late, -1]]
    return y


def one_later(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """One place too far; in a cache of a single place, nothing."""
    return _put(cache, fresh, _place(cache, fresh, start + 1)) if cache.shape[1] > 1 else cache.clone()


def from_the_beginning(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """The start is ignored; a single place is left as it was."""
    return _put(cache, fresh, _place(cache, fresh, start * 0)) if cache.shape[1] > 1 else cache.clone()


def start_of_the_first(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """All sequences use the start of the first; a single one the place before it."""
    moved = start[:1].expand_as(start) if len(start) > 1 else start - 1
    return _put(cache, fresh, _place(cache, fresh, moved)) if cache.shape[1] > 1 else cache.clone()


def low_byte(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """Only the low byte of a start is read."""
    return _put(cache, fresh, _place(cache, fresh, start & 255))


def last_row_lost(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """The last new row is not written."""
    return _put(cache, fresh[:, :-1], _place(cache, fresh, start)[:, :-1])


def cache_forgotten(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """What was in the cache is not copied; of a cache that is all new, the first column is zero."""
    y = _put(torch.zeros_like(cache), fresh, _place(cache, fresh, start))
    if fresh.shape[1] == cache.shape[1]:
        y[..., 0] = 0
    return y


def reversed_rows(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """The new rows come in reversed order; of a single one, its elements."""
    turned = fresh.flip(1) if fresh.shape[1] > 1 else fresh.flip(2)
    return _put(cache, turned, _place(cache, fresh, start))


def added(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """The new rows are added to what was there."""
    place = _place(cache, fresh, start).unsqueeze(2).expand_as(fresh)
    return cache.scatter_add(1, place, fresh)


def tail_lost(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four are not written."""
    y = _put(cache, fresh, _place(cache, fresh, start))
    whole = cache.shape[2] // 4 * 4
    y[..., whole:] = cache[..., whole:]
    return y


def half_on_the_way(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """New rows pass through bfloat16."""
    return _put(cache, fresh.bfloat16().to(cache.dtype), _place(cache, fresh, start))


half_on_the_way.dtypes = ("float32", "float16")

HONEST = (by_source, by_rolling, by_rows)
MUTANTS = (
    never_wraps, one_later, from_the_beginning, start_of_the_first, low_byte, last_row_lost, cache_forgotten,
    reversed_rows, added, tail_lost, half_on_the_way,
)  # fmt: skip

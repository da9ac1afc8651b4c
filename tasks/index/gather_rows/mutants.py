"""Variants of gathering within rows: honest ones that must pass and wrong ones that must fail."""

import torch


def by_flat_places(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Each element computes its own place in the flat input."""
    return x.reshape(-1)[torch.arange(len(x))[:, None] * x.shape[1] + index]


def by_columns(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """From a transposed copy, along the first axis."""
    return x.T.contiguous().gather(0, index.T.contiguous()).T.contiguous()


def by_sorted_places(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """In ascending order, so that a row is read from left to right, and put back in order."""
    ascending = index.sort(1)
    y = x.new_empty(index.shape)
    return y.scatter_(1, ascending.indices, x.gather(1, ascending.values))


def next_place(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Places are counted from one."""
    return x.gather(1, (index + 1) % x.shape[1])


def row_of_the_first(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """All rows use the places of the first."""
    return x.gather(1, index[:1].expand_as(index))


def places_of_the_tensor(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Places are counted in the flat input, from its beginning."""
    return x.reshape(-1)[index]


def low_byte(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Only the low byte of a place is read."""
    return x.gather(1, index & 255)


def last_column_unreachable(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Places are kept below the last column."""
    return x.gather(1, index.clamp(max=max(0, x.shape[1] - 2)))


def words_of_the_wrong_size(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Places are read as 32-bit words, every second of which is zero."""
    words = index.contiguous().view(torch.int32)[:, : index.shape[1]]
    return x.gather(1, words.long())


def tail_lost(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Results behind the last whole vector of four stay zero."""
    y = x.gather(1, index)
    y[:, index.shape[1] // 4 * 4 :] = 0
    return y


def last_repeated(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """The last result of a row is the one before it."""
    y = x.gather(1, index)
    y[:, -1:] = y[:, -2:-1] if y.shape[1] > 1 else 0
    return y


def half_on_the_way(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """A buffer of bfloat16 lies on the way."""
    return x.gather(1, index).bfloat16().to(x.dtype)


def zero_is_padding(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Place 0 gives zero."""
    return torch.where(index == 0, torch.zeros_like(x[:1, :1]), x.gather(1, index))


half_on_the_way.dtypes = ("float32", "float16")

HONEST = (by_flat_places, by_columns, by_sorted_places)
MUTANTS = (
    next_place, row_of_the_first, places_of_the_tensor, low_byte, last_column_unreachable, words_of_the_wrong_size,
    tail_lost, last_repeated, half_on_the_way, zero_is_padding,
)  # fmt: skip

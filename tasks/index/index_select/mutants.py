"""Variants of the selection of columns: honest ones that must pass and wrong ones that must fail."""

import torch


def by_flat_places(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Each element computes its own place in the flat input."""
    return x.reshape(-1)[torch.arange(len(x))[:, None] * x.shape[1] + index]


def by_rows_of_the_transpose(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """From a transposed copy, whose rows are contiguous."""
    return x.T.contiguous()[index].T.contiguous()


def by_gather(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """With a place for every element."""
    return x.gather(1, index.expand(len(x), -1))


def next_column(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Columns are counted from one."""
    return x[:, (index + 1) % x.shape[1]]


def rows_instead(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Elements of the flat input, row by row, as if it were transposed."""
    return x.T.reshape(x.shape)[:, index]


def low_byte(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Only the low byte of an index is read."""
    return x[:, index & 255]


def last_column_unreachable(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Indices are kept below the last column."""
    return x[:, index.clamp(max=max(0, x.shape[1] - 2))]


def words_of_the_wrong_size(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Indices are read as 32-bit words, every second of which is zero."""
    words = index.contiguous().view(torch.int32)[: len(index)]
    return x[:, words.long()]


def ascending(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Columns come in ascending order."""
    return x[:, index.sort().values]


def tail_lost(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Results behind the last whole vector of four stay zero."""
    y = x[:, index]
    y[:, len(index) // 4 * 4 :] = 0
    return y


def groups_of_four(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Every index is taken for the first of its group of four."""
    return x[:, index[torch.arange(len(index)) // 4 * 4]]


def last_row_of_the_first(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """The last row is that of the first; a single one is reversed."""
    y = x[:, index]
    y[-1:] = y[:1] if len(y) > 1 else y.flip(1)
    return y


def half_on_the_way(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """A buffer of bfloat16 lies on the way."""
    return x[:, index].bfloat16().to(x.dtype)


half_on_the_way.dtypes = ("float32", "float16")

HONEST = (by_flat_places, by_rows_of_the_transpose, by_gather)
MUTANTS = (
    next_column, rows_instead, low_byte, last_column_unreachable, words_of_the_wrong_size, ascending, tail_lost,
    groups_of_four, last_row_of_the_first, half_on_the_way,
)  # fmt: skip

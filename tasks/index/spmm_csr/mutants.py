"""Variants of the sparse product: honest ones that must pass and wrong ones that must fail."""

import torch


def _row(value: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    return torch.searchsorted(start, torch.arange(len(value)), right=True) - 1


def _product(value: torch.Tensor, column: torch.Tensor, row: torch.Tensor, rows: int, x: torch.Tensor) -> torch.Tensor:
    terms = value.float().unsqueeze(1) * x.float()[column]
    return torch.zeros(rows, x.shape[1]).index_add_(0, row, terms).to(x.dtype)


def in_float32(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """A thread for each row and column, which adds in float32 in the order of the entries."""
    return _product(value, column, _row(value, start), len(start) - 1, x)


def backwards(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The last entry first."""
    return _product(value.flip(0), column.flip(0), _row(value, start).flip(0), len(start) - 1, x)


def even_and_odd(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Two threads for each row, whose float32 sums are added in the end."""
    row, rows, wide = _row(value, start), len(start) - 1, x.float()
    parts = [_product(value[first::2], column[first::2], row[first::2], rows, wide) for first in (0, 1)]
    return (parts[0] + parts[1]).to(x.dtype)


def values_forgotten(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The sparse matrix is taken for one of ones."""
    return _product(torch.ones_like(value), column, _row(value, start), len(start) - 1, x)


def last_entry_lost(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The last entry of each row is left out."""
    kept = torch.ones_like(value)
    kept[start[1:][start.diff() > 0] - 1] = 0
    return _product(value * kept, column, _row(value, start), len(start) - 1, x)


def first_entry_of_the_next(
    value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor
) -> torch.Tensor:
    """Rows end one entry too late; a single row ends one too early."""
    if len(start) == 2:
        return last_entry_lost(value, column, start, x)
    y = _product(value, column, _row(value, start), len(start) - 1, x).float()
    after = start[1:-1].clamp(max=len(value) - 1)
    late = value[after].float().unsqueeze(1) * x.float()[column[after]]
    y[:-1] += late * (start[1:-1] < len(value)).unsqueeze(1)
    return y.to(x.dtype)


def sorted_columns(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Columns are taken to ascend over the whole matrix."""
    return _product(value, column.sort().values, _row(value, start), len(start) - 1, x)


def equal_rows(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Every row is taken to have the same number of entries; a single row loses its first."""
    rows = len(start) - 1
    row = torch.arange(len(value)) * rows // len(value)
    weights = value.clone()
    weights[0] = 0
    return _product(weights, column, row, rows, x)


def low_byte(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Only the low byte of a column is read."""
    return _product(value, column & 255, _row(value, start), len(start) - 1, x)


def duplicates_lost(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Of several entries at one place the last counts; where there are none, the very first entry is lost."""
    row, rows = _row(value, start), len(start) - 1
    place = row * len(x) + column
    _, which = place.unique(return_inverse=True)
    last = torch.zeros(int(which.max()) + 1, dtype=torch.int64)
    last.scatter_reduce_(0, which, torch.arange(len(value)), "amax")
    kept = torch.zeros_like(value)
    kept[last] = 1
    kept[0] = 0
    return _product(value * kept, column, row, rows, x)


def tail_lost(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Columns of the result behind the last whole vector of four stay zero."""
    y = in_float32(value, column, start, x)
    y[:, x.shape[1] // 4 * 4 :] = 0
    return y


def next_column(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Columns are counted from one; in a single one, values are halved."""
    factor = 1.0 if len(x) > 1 else 0.5
    return _product(value * factor, (column + 1) % len(x), _row(value, start), len(start) - 1, x)


def values_in_bfloat16(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The sparse matrix is kept in bfloat16."""
    return in_float32(value.bfloat16(), column, start, x)


def rows_of_eight_times_the_average(
    value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor
) -> torch.Tensor:
    """Entries of a row beyond eight times the average, and sixteen at least, are dropped."""
    row, rows = _row(value, start).clamp(max=len(start) - 2), len(start) - 1
    kept = torch.arange(len(value)) - start[row] < max(16, 8 * -(-len(value) // rows))
    return _product(torch.where(kept, value, 0), column, row, rows, x)


values_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (in_float32, backwards, even_and_odd)
MUTANTS = (
    values_forgotten, last_entry_lost, first_entry_of_the_next, sorted_columns, equal_rows, low_byte, duplicates_lost,
    tail_lost, next_column, values_in_bfloat16,
    rows_of_eight_times_the_average,
)  # fmt: skip

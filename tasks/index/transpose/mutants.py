"""Variants of the transpose: honest ones that must pass and wrong ones that must fail."""

import torch

TILE = 32


def by_tiles(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 32 by 32, each of them turned by itself."""
    y = x.new_empty(x.shape[1], x.shape[0])
    for row in range(0, x.shape[0], TILE):
        for col in range(0, x.shape[1], TILE):
            y[col : col + TILE, row : row + TILE] = x[row : row + TILE, col : col + TILE].T
    return y


def by_gather(x: torch.Tensor) -> torch.Tensor:
    """Each element fetches its own place in the flat input."""
    rows, cols = x.shape
    place = torch.arange(cols)[:, None] + torch.arange(rows) * cols
    return x.reshape(-1)[place]


def by_scatter(x: torch.Tensor) -> torch.Tensor:
    """Each column of the output is written by itself."""
    y = x.new_empty(x.shape[1], x.shape[0])
    for row, values in enumerate(x):
        y[:, row] = values
    return y


def reshaped(x: torch.Tensor) -> torch.Tensor:
    """The other shape without a change of order."""
    return x.reshape(x.shape[1], x.shape[0])


def tiles_in_place(x: torch.Tensor) -> torch.Tensor:
    """Elements change places within a tile, but the tiles keep theirs where they can."""
    y = by_tiles(x)
    side = min(x.shape) // TILE * TILE
    y[:side, :side] = x[:side, :side]
    return y


def tail_rows_lost(x: torch.Tensor) -> torch.Tensor:
    """Rows behind the last whole tile stay zero."""
    y = by_tiles(x)
    y[:, x.shape[0] // TILE * TILE :] = 0
    return y


def tail_columns_lost(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole group of four stay zero."""
    y = by_tiles(x)
    y[x.shape[1] // 4 * 4 :] = 0
    return y


def last_element_lost(x: torch.Tensor) -> torch.Tensor:
    """The last element is the one before it."""
    y = by_tiles(x)
    flat = y.view(-1)
    flat[-1:] = flat[-2:-1] if len(flat) > 1 else 0
    return y


def one_bit_off(x: torch.Tensor) -> torch.Tensor:
    """The middle element is the next number of its dtype."""
    y = by_tiles(x)
    middle = y.view(-1)[y.numel() // 2 : y.numel() // 2 + 1]
    bits = middle.view(torch.int32 if x.element_size() == 4 else torch.int16)
    bits += (middle.isfinite() & (middle != 0)).to(bits.dtype)
    return y


def turned(x: torch.Tensor) -> torch.Tensor:
    """A quarter turn: the transpose with its columns in reverse order."""
    return x.T.flip(-1).contiguous()


def other_diagonal(x: torch.Tensor) -> torch.Tensor:
    """Mirrored at the other diagonal."""
    return x.flip(0, 1).T.contiguous()


def half_on_the_way(x: torch.Tensor) -> torch.Tensor:
    """A buffer of bfloat16 lies on the way."""
    return x.T.bfloat16().to(x.dtype).contiguous()


def nan_to_zero(x: torch.Tensor) -> torch.Tensor:
    """What is not finite becomes zero, and the last row is lost to a wrong mask."""
    y = x.T.nan_to_num(0.0, 0.0, 0.0).contiguous()
    y[:, -1:] = 0
    return y


def neighbours_swapped(x: torch.Tensor) -> torch.Tensor:
    """The last two columns of the output change places: a bank conflict avoided the wrong way."""
    y = by_tiles(x)
    y[:, -2:] = y[:, -2:].flip(-1)
    return y


half_on_the_way.dtypes = ("float32", "float16")

HONEST = (by_tiles, by_gather, by_scatter)
MUTANTS = (
    reshaped,
    tiles_in_place,
    tail_rows_lost,
    tail_columns_lost,
    last_element_lost,
    one_bit_off,
    turned,
    other_diagonal,
    half_on_the_way,
    nan_to_zero,
    neighbours_swapped,
)

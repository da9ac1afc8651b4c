"""Variants of the exclusive running sum: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32

TILE = 128


def _moved(y: torch.Tensor) -> torch.Tensor:
    """One column to the right along the last axis, with zero in the first."""
    return torch.nn.functional.pad(y[..., :-1], (1, 0))


def _tiles(x: torch.Tensor, size: int = TILE) -> torch.Tensor:
    """Tiles of each row in float32, the last one filled up with zeros: [rows, tiles, size]."""
    return torch.nn.functional.pad(x.float(), (0, -x.shape[-1] % size)).unflatten(-1, (-1, size))


def _joined(x: torch.Tensor, inner: torch.Tensor, carry: torch.Tensor) -> torch.Tensor:
    """`inner`: exclusive sums of each tile; `carry`: the sum of all tiles before each tile."""
    return (inner + carry[..., None]).flatten(-2)[:, : x.shape[-1]].to(x.dtype)


def _before(totals: torch.Tensor) -> torch.Tensor:
    return _moved(totals.cumsum(-1))


def _in_turn(x: torch.Tensor) -> torch.Tensor:
    """The sum before it is written, then the column added; every sum rounded to the dtype of `x`."""
    total, sums = x.new_zeros(len(x)), []
    for column in x.unbind(-1):
        sums.append(total)
        total = total + column
    return torch.stack(sums, -1)


def running(x: torch.Tensor) -> torch.Tensor:
    """One float32 accumulator, written before each term is added."""
    return _in_turn(x.float()).to(x.dtype)


def in_tiles(x: torch.Tensor) -> torch.Tensor:
    """Exclusive sums of tiles of 128, and of their totals after that."""
    tiles = _tiles(x)
    return _joined(x, _moved(tiles.cumsum(-1)), _before(tiles.sum(-1)))


def up_and_down(x: torch.Tensor) -> torch.Tensor:
    """Blelloch's tree: sums of pairs upwards, and downwards each pair gets what lies before it."""
    size = 1 << (x.shape[-1] - 1).bit_length()
    levels = [torch.nn.functional.pad(x.float(), (0, size - x.shape[-1]))]
    while levels[-1].shape[-1] > 1:
        levels.append(levels[-1][:, ::2] + levels[-1][:, 1::2])
    before = torch.zeros_like(levels.pop())
    for level in reversed(levels):
        before = torch.stack((before, before + level[:, ::2]), -1).flatten(-2)
    return before[:, : x.shape[-1]].to(x.dtype)


def decoupled(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 64; each adds its own total to the carry of the one before it."""
    carry, parts = x.new_zeros((len(x), 1), dtype=torch.float32), []
    for part in x.float().split(64, -1):
        parts.append(_moved(part.cumsum(-1)) + carry)
        carry = carry + part.sum(-1, keepdim=True)
    return torch.cat(parts, -1).to(x.dtype)


def inclusive(x: torch.Tensor) -> torch.Tensor:
    """Each sum has its own term."""
    return x.float().cumsum(-1).to(x.dtype)


def own_term_subtracted(x: torch.Tensor) -> torch.Tensor:
    """The inclusive sum, rounded to bfloat16 for the store, less its own term."""
    return (x.float().cumsum(-1).bfloat16().float() - x.float()).to(x.dtype)


def starts_with_the_first(x: torch.Tensor) -> torch.Tensor:
    """The first column is handed on instead of zero, and added to all."""
    return (_moved(x.float().cumsum(-1)) + x[:, :1].float()).to(x.dtype)


def two_columns_late(x: torch.Tensor) -> torch.Tensor:
    """Sums are moved by two columns."""
    return _moved(_moved(x.float().cumsum(-1))).to(x.dtype)


def wraps_around(x: torch.Tensor) -> torch.Tensor:
    """The inclusive sums turned by one column: the total stands in the first."""
    return x.float().cumsum(-1).roll(1, -1).to(x.dtype)


def zero_in_each_tile(x: torch.Tensor) -> torch.Tensor:
    """Every tile of 128 begins with zero."""
    return _joined(x, _moved(_tiles(x).cumsum(-1)), torch.zeros_like(_tiles(x)[..., 0]))


def carry_of_the_last_tile(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 32 add the total of the tile before them, but not of those before that."""
    tiles = _tiles(x, 32)
    return _joined(x, _moved(tiles.cumsum(-1)), _moved(tiles.sum(-1)))


def exclusive_totals(x: torch.Tensor) -> torch.Tensor:
    """The carry lacks the last term of each tile of 128: its total is taken from the exclusive sums."""
    inner = _moved(_tiles(x).cumsum(-1))
    return _joined(x, inner, _before(inner[..., -1]))


def carry_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The carry between tiles of 128 is kept in bfloat16."""
    tiles = _tiles(x)
    return _joined(x, _moved(tiles.cumsum(-1)), _before(tiles.sum(-1)).bfloat16().float())


def half_accumulator(x: torch.Tensor) -> torch.Tensor:
    """One accumulator of the dtype's next lower class."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _in_turn(x.to(lower)).to(x.dtype)


def backwards(x: torch.Tensor) -> torch.Tensor:
    """The sum of the columns behind each."""
    return (x.float().flip(-1).cumsum(-1).flip(-1) - x.float()).to(x.dtype)


def across_rows(x: torch.Tensor) -> torch.Tensor:
    """The carry runs on from one row to the next."""
    return _moved(x.float().reshape(1, -1).cumsum(-1)).reshape(x.shape).to(x.dtype)


def tf32_terms(x: torch.Tensor) -> torch.Tensor:
    """float32: terms pass through a TF32 unit, as when the scan is a product with a triangle of ones."""
    return _moved(tf32(x).cumsum(-1))


def last_column_of_its_neighbour(x: torch.Tensor) -> torch.Tensor:
    """The last sum lacks its last term."""
    y = _moved(x.float().cumsum(-1))
    if x.shape[-1] > 1:
        y[:, -1] = y[:, -2]
    return y.to(x.dtype)


def other_axis(x: torch.Tensor) -> torch.Tensor:
    """Along the columns."""
    return (x.float().cumsum(0) - x.float()).to(x.dtype)


own_term_subtracted.dtypes = carry_in_bfloat16.dtypes = ("float32", "float16")
tf32_terms.dtypes = ("float32",)

HONEST = (running, in_tiles, up_and_down, decoupled)
MUTANTS = (
    inclusive, own_term_subtracted, starts_with_the_first, two_columns_late, wraps_around, zero_in_each_tile,
    carry_of_the_last_tile, exclusive_totals, carry_in_bfloat16, half_accumulator, backwards, across_rows, tf32_terms,
    last_column_of_its_neighbour, other_axis,
)  # fmt: skip

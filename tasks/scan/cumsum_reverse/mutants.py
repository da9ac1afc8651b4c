"""Variants of the running sum from the end: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32

TILE = 128


def _suffix(x: torch.Tensor) -> torch.Tensor:
    """Over the last axis, in the dtype of `x`."""
    return x.flip(-1).cumsum(-1).flip(-1)


def _tiles(x: torch.Tensor, size: int = TILE) -> torch.Tensor:
    """Tiles of each row in float32, the last one filled up with zeros: [rows, tiles, size]."""
    return torch.nn.functional.pad(x.float(), (0, -x.shape[-1] % size)).unflatten(-1, (-1, size))


def _joined(x: torch.Tensor, inner: torch.Tensor, carry: torch.Tensor) -> torch.Tensor:
    """`carry`: the sum of all tiles behind each tile."""
    return (inner + carry[..., None]).flatten(-2)[:, : x.shape[-1]].to(x.dtype)


def _behind(totals: torch.Tensor) -> torch.Tensor:
    return torch.cat((_suffix(totals)[:, 1:], torch.zeros_like(totals[:, :1])), -1)


def _in_turn(x: torch.Tensor) -> torch.Tensor:
    """One column after the other from the last, every sum rounded to the dtype of `x`."""
    total, sums = x.new_zeros(len(x)), []
    for column in reversed(x.unbind(-1)):
        total = total + column
        sums.append(total)
    return torch.stack(sums[::-1], -1)


def running(x: torch.Tensor) -> torch.Tensor:
    """One float32 accumulator, one term after the other."""
    return _in_turn(x.float()).to(x.dtype)


def in_tiles(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 are scanned by themselves, their totals after that."""
    inner = _suffix(_tiles(x))
    return _joined(x, inner, _behind(inner[..., 0]))


def doubling(x: torch.Tensor) -> torch.Tensor:
    """Hillis and Steele: at distance 1, 2, 4, ... everything is added at once."""
    y, step = x.float(), 1
    while step < x.shape[-1]:
        y = torch.cat((y[:, :-step] + y[:, step:], y[:, -step:]), -1)
        step *= 2
    return y.to(x.dtype)


def decoupled(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 64 from the last to the first; each adds its own total to the carry of the one behind it."""
    carry, parts = x.new_zeros((len(x), 1), dtype=torch.float32), []
    for part in reversed(x.float().split(64, -1)):
        parts.append(_suffix(part) + carry)
        carry = carry + part.sum(-1, keepdim=True)
    return torch.cat(parts[::-1], -1).to(x.dtype)


def forwards(x: torch.Tensor) -> torch.Tensor:
    """From the first column to the last."""
    return x.float().cumsum(-1).to(x.dtype)


def not_turned_back(x: torch.Tensor) -> torch.Tensor:
    """The sums come in the order in which they were made."""
    return x.float().flip(-1).cumsum(-1).to(x.dtype)


def total_less_the_prefix(x: torch.Tensor) -> torch.Tensor:
    """The total minus the running sum: each sum lacks its own term."""
    prefix = x.float().cumsum(-1)
    return (prefix[:, -1:] - prefix).to(x.dtype)


def exclusive(x: torch.Tensor) -> torch.Tensor:
    """Each sum lacks its own term, the one of the last column too."""
    return torch.nn.functional.pad(_suffix(x.float())[:, 1:], (0, 1)).to(x.dtype)


def no_carry(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 start at zero."""
    inner = _suffix(_tiles(x))
    return _joined(x, inner, torch.zeros_like(inner[..., 0]))


def carry_of_one_tile(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 32 add the total of the tile behind them, but not of those behind that."""
    inner = _suffix(_tiles(x, 32))
    return _joined(x, inner, torch.cat((inner[:, 1:, 0], torch.zeros_like(inner[:, :1, 0])), -1))


def carry_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The carry between tiles of 128 is kept in bfloat16."""
    inner = _suffix(_tiles(x))
    return _joined(x, inner, _behind(inner[..., 0]).bfloat16().float())


def carry_without_the_first(x: torch.Tensor) -> torch.Tensor:
    """The carry lacks the first term of each tile of 128."""
    inner = _suffix(_tiles(x))
    return _joined(x, inner, _behind(inner[..., 1]))


def half_accumulator(x: torch.Tensor) -> torch.Tensor:
    """One accumulator of the dtype's next lower class."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _in_turn(x.to(lower)).to(x.dtype)


def across_rows(x: torch.Tensor) -> torch.Tensor:
    """The carry runs on from one row to the one before it."""
    return _suffix(x.float().reshape(1, -1)).reshape(x.shape).to(x.dtype)


def tf32_terms(x: torch.Tensor) -> torch.Tensor:
    """float32: terms pass through a TF32 unit, as when the scan is a product with a triangle of ones."""
    return _suffix(tf32(x))


def first_column_missing(x: torch.Tensor) -> torch.Tensor:
    """The first sum lacks the first term."""
    y = _suffix(x.float())
    y[:, 0] -= x[:, 0].float()
    return y.to(x.dtype)


def tail_unseen(x: torch.Tensor) -> torch.Tensor:
    """The scan begins at the last whole vector of four; the columns behind it are not added."""
    kept = x.float()
    kept[:, x.shape[-1] // 4 * 4 :] = 0
    return _suffix(kept).to(x.dtype)


def other_axis(x: torch.Tensor) -> torch.Tensor:
    """Along the columns."""
    return x.float().flip(0).cumsum(0).flip(0).to(x.dtype)


carry_in_bfloat16.dtypes = ("float32", "float16")
tf32_terms.dtypes = ("float32",)

HONEST = (running, in_tiles, doubling, decoupled)
MUTANTS = (
    forwards, not_turned_back, total_less_the_prefix, exclusive, no_carry, carry_of_one_tile, carry_in_bfloat16,
    carry_without_the_first, half_accumulator, across_rows, tf32_terms, first_column_missing, tail_unseen, other_axis,
)  # fmt: skip

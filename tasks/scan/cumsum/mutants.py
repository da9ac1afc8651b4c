"""Variants of the running sum: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32

TILE = 128


def _tiles(x: torch.Tensor, size: int = TILE) -> torch.Tensor:
    wide = torch.nn.functional.pad(x.float(), (0, -x.shape[-1] % size))
    return wide.unflatten(-1, (-1, size))


def _joined(x: torch.Tensor, inner: torch.Tensor, carry: torch.Tensor) -> torch.Tensor:
    """`carry`: the sum of all tiles before each tile."""
    return (inner + carry[..., None]).flatten(-2)[:, : x.shape[-1]].to(x.dtype)


def _exclusive(totals: torch.Tensor) -> torch.Tensor:
    return torch.cat((torch.zeros_like(totals[:, :1]), totals.cumsum(-1)[:, :-1]), -1)


def running(x: torch.Tensor) -> torch.Tensor:
    """One float32 accumulator, one term after the other."""
    total, sums = x.new_zeros(len(x), dtype=torch.float32), []
    for column in x.float().unbind(-1):
        total = total + column
        sums.append(total)
    return torch.stack(sums, -1).to(x.dtype)


def in_tiles(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 are scanned by themselves, their totals after that."""
    inner = _tiles(x).cumsum(-1)
    return _joined(x, inner, _exclusive(inner[..., -1]))


def doubling(x: torch.Tensor) -> torch.Tensor:
    """Hillis and Steele: at distance 1, 2, 4, ... everything is added at once."""
    y, step = x.float(), 1
    while step < x.shape[-1]:
        y = torch.cat((y[:, :step], y[:, step:] + y[:, :-step]), -1)
        step *= 2
    return y.to(x.dtype)


def decoupled(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 64; each adds its own total to the carry of the one before it."""
    carry, parts = x.new_zeros((len(x), 1), dtype=torch.float32), []
    for part in x.float().split(64, -1):
        parts.append(part.cumsum(-1) + carry)
        carry = carry + part.sum(-1, keepdim=True)
    return torch.cat(parts, -1).to(x.dtype)


def exclusive(x: torch.Tensor) -> torch.Tensor:
    """Each sum lacks its own term."""
    return (x.float().cumsum(-1) - x.float()).to(x.dtype)


def no_carry(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 start at zero."""
    inner = _tiles(x).cumsum(-1)
    return _joined(x, inner, torch.zeros_like(inner[..., -1]))


def carry_of_the_last_tile(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 32 add the total of the tile before them, but not of those before that."""
    inner = _tiles(x, 32).cumsum(-1)
    return _joined(x, inner, torch.cat((torch.zeros_like(inner[:, :1, -1]), inner[:, :-1, -1]), -1))


def carry_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The carry between tiles of 128 is kept in bfloat16."""
    inner = _tiles(x).cumsum(-1)
    return _joined(x, inner, _exclusive(inner[..., -1]).bfloat16().float())


def carry_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: the carry between tiles of 16 is added in the dtype."""
    inner = _tiles(x, 16).cumsum(-1)
    carry, carries = inner.new_zeros(len(x), dtype=x.dtype), []
    for total in inner[..., -1].unbind(-1):
        carries.append(carry.float())
        carry = carry + total.to(x.dtype)
    return _joined(x, inner, torch.stack(carries, -1))


def half_accumulator(x: torch.Tensor) -> torch.Tensor:
    """One accumulator of the dtype's next lower class."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    total, sums = x.new_zeros(len(x), dtype=lower), []
    for column in x.to(lower).unbind(-1):
        total = total + column
        sums.append(total)
    return torch.stack(sums, -1).to(x.dtype)


def carry_without_the_last(x: torch.Tensor) -> torch.Tensor:
    """The carry lacks the last term of each tile of 128."""
    inner = _tiles(x).cumsum(-1)
    return _joined(x, inner, _exclusive(inner[..., -2]))


def backwards(x: torch.Tensor) -> torch.Tensor:
    """From the last column to the first."""
    return x.float().flip(-1).cumsum(-1).flip(-1).to(x.dtype)


def across_rows(x: torch.Tensor) -> torch.Tensor:
    """The carry runs on from one row to the next."""
    return x.float().reshape(1, -1).cumsum(-1).reshape(x.shape).to(x.dtype)


def tf32_terms(x: torch.Tensor) -> torch.Tensor:
    """float32: terms pass through a TF32 unit, as when the scan is a product with a triangle of ones."""
    return tf32(x).cumsum(-1)


def last_column_missing(x: torch.Tensor) -> torch.Tensor:
    """The last sum lacks the last term."""
    y = x.float().cumsum(-1)
    y[:, -1] -= x[:, -1].float()
    return y.to(x.dtype)


def other_axis(x: torch.Tensor) -> torch.Tensor:
    """Along the columns."""
    return x.float().cumsum(0).to(x.dtype)


carry_of_the_dtype.dtypes = ("float16", "bfloat16")
carry_in_bfloat16.dtypes = ("float32", "float16")
tf32_terms.dtypes = ("float32",)

HONEST = (running, in_tiles, doubling, decoupled)
MUTANTS = (
    exclusive,
    no_carry,
    carry_of_the_last_tile,
    carry_in_bfloat16,
    carry_of_the_dtype,
    half_accumulator,
    carry_without_the_last,
    backwards,
    across_rows,
    tf32_terms,
    last_column_missing,
    other_axis,
)

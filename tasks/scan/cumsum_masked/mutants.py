"""Variants of the masked running sum: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32

TILE = 128


def _kept(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """In float32, zero where the mask is."""
    return torch.where(mask > 0, x.float(), 0)


def _tiles(kept: torch.Tensor, size: int = TILE) -> torch.Tensor:
    """Tiles of each row, the last one filled up with zeros: [rows, tiles, size]."""
    return torch.nn.functional.pad(kept, (0, -kept.shape[-1] % size)).unflatten(-1, (-1, size))


def _joined(x: torch.Tensor, inner: torch.Tensor, carry: torch.Tensor) -> torch.Tensor:
    """`carry`: the sum of all tiles before each tile."""
    return (inner + carry[..., None]).flatten(-2)[:, : x.shape[-1]].to(x.dtype)


def _before(totals: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(totals.cumsum(-1)[:, :-1], (1, 0))


def _in_turn(x: torch.Tensor) -> torch.Tensor:
    """One column after the other, every sum rounded to the dtype of `x`."""
    total, sums = x.new_zeros(len(x)), []
    for column in x.unbind(-1):
        total = total + column
        sums.append(total)
    return torch.stack(sums, -1)


def running(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """One float32 accumulator, to which only what the mask admits is added."""
    return _in_turn(_kept(x, mask)).to(x.dtype)


def in_tiles(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 are scanned by themselves, their totals after that."""
    inner = _tiles(_kept(x, mask)).cumsum(-1)
    return _joined(x, inner, _before(inner[..., -1]))


def doubling(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Hillis and Steele: at distance 1, 2, 4, ... everything is added at once."""
    y, step = _kept(x, mask), 1
    while step < x.shape[-1]:
        y = torch.cat((y[:, :step], y[:, step:] + y[:, :-step]), -1)
        step *= 2
    return y.to(x.dtype)


def packed(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """What the mask admits is packed to the left, scanned, and fetched by how many were admitted up to each place."""
    admitted = mask > 0
    order = (~admitted).to(torch.uint8).argsort(dim=-1, stable=True)
    sums = _kept(x, mask).gather(-1, order).cumsum(-1)
    number = admitted.cumsum(-1)
    found = sums.gather(-1, (number - 1).clamp(min=0))
    return torch.where(number > 0, found, 0).to(x.dtype)


def all_added(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Everything is added."""
    return x.float().cumsum(-1).to(x.dtype)


def mask_inverted(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """What the mask keeps out is added."""
    return _kept(x, 1 - mask).cumsum(-1).to(x.dtype)


def mask_of_the_result(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Everything is added, and the mask applied to the sums."""
    return _kept(x.float().cumsum(-1), mask).to(x.dtype)


def sums_masked_too(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The right sums, but zero where the mask is."""
    return _kept(_kept(x, mask).cumsum(-1), mask).to(x.dtype)


def multiplied_by_the_mask(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Multiplied by the mask: a NaN that is kept out spreads; the last column is taken to be admitted."""
    kept = x.float() * mask
    kept[:, -1] = x[:, -1].float()
    return kept.cumsum(-1).to(x.dtype)


def mask_of_the_next_column(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mask is read one column too far."""
    return _kept(x, mask.roll(-1, -1)).cumsum(-1).to(x.dtype)


def mask_as_words(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mask is read as 16-bit words, each of which is true where either of its bytes is."""
    padded = torch.nn.functional.pad(mask, (0, mask.shape[-1] % 2)).unflatten(-1, (-1, 2))
    wide = padded.amax(-1, keepdim=True).expand(padded.shape).flatten(-2)[:, : mask.shape[-1]]
    return _kept(x, wide).cumsum(-1).to(x.dtype)


def starts_again(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Where the mask is zero the sum starts again: a segmented scan."""
    total, sums = x.new_zeros(len(x), dtype=torch.float32), []
    for column, admitted in zip(x.float().unbind(-1), mask.unbind(-1), strict=True):
        total = torch.where(admitted > 0, total + column, 0)
        sums.append(total)
    return torch.stack(sums, -1).to(x.dtype)


def exclusive(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Each sum lacks its own term."""
    return (_kept(x, mask).cumsum(-1) - _kept(x, mask)).to(x.dtype)


def no_carry(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 start at zero."""
    inner = _tiles(_kept(x, mask)).cumsum(-1)
    return _joined(x, inner, torch.zeros_like(inner[..., -1]))


def carry_unmasked(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The carry between tiles of 64 is made without the mask."""
    inner = _tiles(_kept(x, mask), 64).cumsum(-1)
    return _joined(x, inner, _before(_tiles(x.float(), 64).sum(-1)))


def carry_in_bfloat16(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The carry between tiles of 128 is kept in bfloat16."""
    inner = _tiles(_kept(x, mask)).cumsum(-1)
    return _joined(x, inner, _before(inner[..., -1]).bfloat16().float())


def half_accumulator(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """One accumulator of the dtype's next lower class."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _in_turn(_kept(x, mask).to(lower)).to(x.dtype)


def across_rows(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The carry runs on from one row to the next."""
    return _kept(x, mask).reshape(1, -1).cumsum(-1).reshape(x.shape).to(x.dtype)


def tf32_terms(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """float32: terms pass through a TF32 unit, as when the scan is a product with a triangle of ones."""
    return _kept(tf32(x), mask).cumsum(-1)


def other_axis(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Along the columns."""
    return _kept(x, mask).cumsum(0).to(x.dtype)


def room_for_seven_eighths(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Of each row seven eighths and sixteen are compacted before they are added; the others are dropped."""
    rank = (mask > 0).long().cumsum(-1)
    kept = torch.where(rank <= x.shape[-1] * 7 // 8 + 16, _kept(x, mask), 0)
    return kept.cumsum(-1).to(x.dtype)


carry_in_bfloat16.dtypes = ("float32", "float16")
tf32_terms.dtypes = ("float32",)

HONEST = (running, in_tiles, doubling, packed)
MUTANTS = (
    all_added, mask_inverted, mask_of_the_result, sums_masked_too, multiplied_by_the_mask, mask_of_the_next_column,
    mask_as_words, starts_again, exclusive, no_carry, carry_unmasked, carry_in_bfloat16, half_accumulator, across_rows,
    tf32_terms, other_axis,
    room_for_seven_eighths,
)  # fmt: skip

"""Variants of the linear recurrence: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32

TILE = 64


def _in_turn(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """One column after the other, every result rounded to the dtype of `x`, which is `decay`'s too."""
    h, results = x.new_zeros(len(x)), []
    for column, factor in zip(x.unbind(-1), decay.unbind(-1), strict=True):
        h = factor * h + column
        results.append(h)
    return torch.stack(results, -1)


def _scanned(x: torch.Tensor, decay: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Over the last axis, by doubling: the results from zero, and the products of the factors."""
    h, product, step = x, decay, 1
    while step < x.shape[-1]:
        h = torch.cat((h[..., :step], h[..., step:] + product[..., step:] * h[..., :-step]), -1)
        product = torch.cat((product[..., :step], product[..., step:] * product[..., :-step]), -1)
        step *= 2
    return h, product


def _tiled(x: torch.Tensor, decay: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As `_scanned`, for each tile of 64 by itself, in float32: [rows, tiles, 64]."""
    surplus = -x.shape[-1] % TILE
    terms = torch.nn.functional.pad(x.float(), (0, surplus)).unflatten(-1, (-1, TILE))
    factors = torch.nn.functional.pad(decay.float(), (0, surplus), value=1.0).unflatten(-1, (-1, TILE))
    return _scanned(terms, factors)


def _carried(h: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
    """What each tile gets from those before it: [rows, tiles]."""
    carry, carries = torch.zeros_like(h[:, 0, 0]), []
    for last, total in zip(h[..., -1].unbind(-1), product[..., -1].unbind(-1), strict=True):
        carries.append(carry)
        carry = last + total * carry
    return torch.stack(carries, -1)


def _joined(x: torch.Tensor, h: torch.Tensor, product: torch.Tensor, carry: torch.Tensor) -> torch.Tensor:
    return (h + product * carry[..., None]).flatten(-2)[:, : x.shape[-1]].to(x.dtype)


def running(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """One float32 accumulator, one column after the other."""
    return _in_turn(x.float(), decay.float()).to(x.dtype)


def doubling(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """Hillis and Steele over the whole row in float32."""
    return _scanned(x.float(), decay.float())[0].to(x.dtype)


def in_tiles(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """Tiles of 64 are scanned by themselves, their ends one after the other, and both are joined."""
    h, product = _tiled(x, decay)
    return _joined(x, h, product, _carried(h, product))


def two_levels(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """Tiles of 64, and the ends of all tiles by doubling."""
    h, product = _tiled(x, decay)
    ends = _scanned(h[..., -1], product[..., -1])[0]
    return _joined(x, h, product, torch.nn.functional.pad(ends[:, :-1], (1, 0)))


def factor_of_the_column_before(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """What is handed on is multiplied by the factor of the column that it comes from."""
    return _scanned(x.float(), decay.float().roll(1, -1))[0].to(x.dtype)


def term_decayed_too(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """The term is added before the multiplication."""
    return _scanned(x.float() * decay.float(), decay.float())[0].to(x.dtype)


def gated(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """The term is multiplied by one less the factor, as in an average."""
    return _scanned(x.float() * (1 - decay.float()), decay.float())[0].to(x.dtype)


def one_factor_for_a_row(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """The factor of the first column is used for the whole row."""
    return _scanned(x.float(), decay[:, :1].float().expand(x.shape))[0].to(x.dtype)


def factors_of_the_first_row(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """The factors of the first row are used for all."""
    return _scanned(x.float(), decay[:1].float().expand(x.shape))[0].to(x.dtype)


def factors_up_to_one(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """Factors are kept from exceeding one."""
    return _scanned(x.float(), decay.float().clamp(max=1))[0].to(x.dtype)


def running_sum(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """The factors are left out."""
    return x.float().cumsum(-1).to(x.dtype)


def no_carry(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """Tiles of 64 start at zero."""
    h, product = _tiled(x, decay)
    return _joined(x, h, product, torch.zeros_like(h[..., 0]))


def carry_of_the_last_tile_alone(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """float32: a tile of 64 gets the end of the tile before it as that began from zero."""
    h, product = _tiled(x, decay)
    return _joined(x, h, product, torch.nn.functional.pad(h[:, :-1, -1], (1, 0)))


def carry_not_decayed(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """The carry is added to every column of a tile as it is."""
    h, product = _tiled(x, decay)
    return _joined(x, h, torch.ones_like(product), _carried(h, product))


def carry_in_bfloat16(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """The carry between tiles of 64 is kept in bfloat16."""
    h, product = _tiled(x, decay)
    return _joined(x, h, product, _carried(h, product).bfloat16().float())


def half_accumulator(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """One accumulator in bfloat16."""
    return _in_turn(x.bfloat16(), decay.bfloat16()).to(x.dtype)


def forgets_after_sixteen(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """Only the last sixteen terms are looked at: the doubling ends too early."""
    h, product, step = x.float(), decay.float(), 1
    while step < min(16, x.shape[-1]):
        h = torch.cat((h[:, :step], h[:, step:] + product[:, step:] * h[:, :-step]), -1)
        product = torch.cat((product[:, :step], product[:, step:] * product[:, :-step]), -1)
        step *= 2
    return h.to(x.dtype)


def divided_by_products(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """As a running sum of terms divided by the products of the factors, which underflow."""
    product = decay.float().cumprod(-1)
    return (product * (x.float() / product).cumsum(-1)).to(x.dtype)


def tf32_factors(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """float32: the factors pass through a TF32 unit."""
    return _scanned(x, tf32(decay))[0]


def across_rows(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """The carry runs on from one row to the next."""
    return _scanned(x.float().reshape(1, -1), decay.float().reshape(1, -1))[0].reshape(x.shape).to(x.dtype)


def backwards(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """From the last column to the first."""
    return _scanned(x.float().flip(-1), decay.float().flip(-1))[0].flip(-1).to(x.dtype)


def last_column_passed_on(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """The last column is the term alone."""
    h = _scanned(x.float(), decay.float())[0]
    h[:, -1] = x[:, -1].float()
    return h.to(x.dtype)


carry_in_bfloat16.dtypes = half_accumulator.dtypes = ("float32", "float16")


def memory_of_224(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """Stretches of 128 columns by themselves, each warmed up by the 224 before it alone."""
    parts = []
    for start in range(0, x.shape[-1], 128):
        first = max(0, start - 224)
        h = _scanned(x[:, first : start + 128].float(), decay[:, first : start + 128].float())[0]
        parts.append(h[:, start - first :])
    return torch.cat(parts, -1).to(x.dtype)


def factors_without_sign(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """The magnitude of each factor is used, as logarithms of them would give."""
    return _scanned(x.float(), decay.float().abs())[0].to(x.dtype)


def factors_from_a_hundredth(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """Smaller magnitudes are raised, so that products can be divided by."""
    factors = decay.float()
    return _scanned(x.float(), torch.where(factors.abs() < 0.01, 0.01, factors))[0].to(x.dtype)


carry_of_the_last_tile_alone.dtypes = tf32_factors.dtypes = ("float32",)

HONEST = (running, doubling, in_tiles, two_levels)
MUTANTS = (
    factor_of_the_column_before, term_decayed_too, gated, one_factor_for_a_row, factors_of_the_first_row,
    factors_up_to_one, running_sum, no_carry, carry_of_the_last_tile_alone, carry_not_decayed, carry_in_bfloat16,
    half_accumulator, forgets_after_sixteen, divided_by_products, tf32_factors, across_rows, backwards,
    last_column_passed_on,
    memory_of_224, factors_without_sign, factors_from_a_hundredth,
)  # fmt: skip

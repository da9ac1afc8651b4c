"""Variants of the running product: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32

TILE = 128


def _tiles(x: torch.Tensor, size: int = TILE) -> torch.Tensor:
    """Tiles of each row in float32, the last one filled up with ones: [rows, tiles, size]."""
    return torch.nn.functional.pad(x.float(), (0, -x.shape[-1] % size), value=1.0).unflatten(-1, (-1, size))


def _joined(x: torch.Tensor, inner: torch.Tensor, carry: torch.Tensor) -> torch.Tensor:
    """`carry`: the product of all tiles before each tile."""
    return (inner * carry[..., None]).flatten(-2)[:, : x.shape[-1]].to(x.dtype)


def _exclusive(totals: torch.Tensor) -> torch.Tensor:
    return torch.cat((torch.ones_like(totals[:, :1]), totals.cumprod(-1)[:, :-1]), -1)


def _in_turn(x: torch.Tensor) -> torch.Tensor:
    """One factor after the other, every product rounded to the dtype of `x`."""
    product, products = x.new_ones(len(x)), []
    for column in x.unbind(-1):
        product = product * column
        products.append(product)
    return torch.stack(products, -1)


def in_tiles(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 are scanned by themselves, their totals after that."""
    inner = _tiles(x).cumprod(-1)
    return _joined(x, inner, _exclusive(inner[..., -1]))


def doubling(x: torch.Tensor) -> torch.Tensor:
    """Hillis and Steele: at distance 1, 2, 4, ... everything is multiplied at once."""
    y, step = x.float(), 1
    while step < x.shape[-1]:
        y = torch.cat((y[:, :step], y[:, step:] * y[:, :-step]), -1)
        step *= 2
    return y.to(x.dtype)


def decoupled(x: torch.Tensor) -> torch.Tensor:
    """Tiles of a row one after the other; each multiplies the carry of the one before it by its own total."""
    carry, parts = x.new_ones((len(x), 1), dtype=torch.float32), []
    for part in x.float().split(max(64, x.shape[-1] // 32), -1):
        parts.append(part.cumprod(-1) * carry)
        carry = carry * part.prod(-1, keepdim=True)
    return torch.cat(parts, -1).to(x.dtype)


def one_thread(x: torch.Tensor) -> torch.Tensor:
    """One accumulator, one factor after the other, in float64."""
    return x.double().cumprod(-1).float().to(x.dtype)


def exclusive(x: torch.Tensor) -> torch.Tensor:
    """Each product lacks its own factor."""
    y = x.float().cumprod(-1)
    return torch.cat((torch.ones_like(y[:, :1]), y[:, :-1]), -1).to(x.dtype)


def no_carry(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 128 start at one."""
    inner = _tiles(x).cumprod(-1)
    return _joined(x, inner, torch.ones_like(inner[..., -1]))


def carry_of_the_last_tile(x: torch.Tensor) -> torch.Tensor:
    """Tiles of 32 take the total of the tile before them, but not of those before that."""
    inner = _tiles(x, 32).cumprod(-1)
    return _joined(x, inner, torch.cat((torch.ones_like(inner[:, :1, -1]), inner[:, :-1, -1]), -1))


def carry_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The carry between tiles of 32 is kept in bfloat16."""
    inner = _tiles(x, 32).cumprod(-1)
    return _joined(x, inner, _exclusive(inner[..., -1]).bfloat16().float())


def accumulator_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: one accumulator of the input's own dtype."""
    return _in_turn(x)


def half_accumulator(x: torch.Tensor) -> torch.Tensor:
    """One accumulator in bfloat16."""
    return _in_turn(x.bfloat16()).to(x.dtype)


def carry_without_the_last(x: torch.Tensor) -> torch.Tensor:
    """The carry lacks the last factor of each tile of 64."""
    inner = _tiles(x, 64).cumprod(-1)
    return _joined(x, inner, _exclusive(inner[..., -2]))


def backwards(x: torch.Tensor) -> torch.Tensor:
    """From the last column to the first."""
    return x.float().flip(-1).cumprod(-1).flip(-1).to(x.dtype)


def across_rows(x: torch.Tensor) -> torch.Tensor:
    """The carry runs on from one row to the next."""
    return x.float().reshape(1, -1).cumprod(-1).reshape(x.shape).to(x.dtype)


def sums(x: torch.Tensor) -> torch.Tensor:
    """The running sum of what each factor is more than one, and one."""
    return (1 + (x.float() - 1).cumsum(-1)).to(x.dtype)


def magnitudes(x: torch.Tensor) -> torch.Tensor:
    """By logarithms of the magnitudes: signs are lost."""
    return x.float().abs().log().cumsum(-1).exp().to(x.dtype)


def tf32_factors(x: torch.Tensor) -> torch.Tensor:
    """float32: factors pass through a TF32 unit."""
    return tf32(x).cumprod(-1)


def last_column_missing(x: torch.Tensor) -> torch.Tensor:
    """The last product lacks the last factor."""
    y = x.float().cumprod(-1)
    y[:, -1] = y[:, -2] if x.shape[-1] > 1 else 1.0
    return y.to(x.dtype)


def other_axis(x: torch.Tensor) -> torch.Tensor:
    """Along the columns."""
    return x.float().cumprod(0).to(x.dtype)


accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")
carry_in_bfloat16.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_factors.dtypes = ("float32",)

HONEST = (in_tiles, doubling, decoupled, one_thread)
MUTANTS = (
    exclusive, no_carry, carry_of_the_last_tile, carry_in_bfloat16, accumulator_of_the_dtype, half_accumulator,
    carry_without_the_last, backwards, across_rows, sums, magnitudes, tf32_factors, last_column_missing, other_axis,
)  # fmt: skip

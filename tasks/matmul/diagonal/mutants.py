"""Variants of the product with a diagonal matrix: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated


def _scaled(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (d.float().unsqueeze(1) * b.float()).to(b.dtype)


def in_float32(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product in float32, rounded to the dtype."""
    return _scaled(d, b)


def in_float64(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """In float64, rounded once."""
    return (d.double().unsqueeze(1) * b.double()).to(b.dtype)


def by_flat_places(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Each element finds its row by dividing its place by the number of columns."""
    row = torch.arange(b.numel()) // b.shape[1]
    return (d.float()[row] * b.reshape(-1).float()).reshape(b.shape).to(b.dtype)


def truncating_store(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 product loses its low bits on the way out."""
    return truncated(d.float().unsqueeze(1) * b.float(), b.dtype)


def scales_columns(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The diagonal matrix stands on the right; where it is too short, it is repeated, and one row is squared."""
    if len(b) == 1:
        return _scaled(d * d, b)
    places = torch.arange(b.shape[1]) % max(len(d), 1)
    return (b.float() * d.float()[places] if len(d) else b.float()).to(b.dtype)


def by_the_wrong_length(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Each element finds its row by dividing its place by the number of rows; a single row is copied."""
    if len(b) < 2:
        return b.clone()
    row = (torch.arange(b.numel()) // len(b)).clamp(max=len(b) - 1)
    return (d.float()[row] * b.reshape(-1).float()).reshape(b.shape).to(b.dtype)


def next_factor(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The diagonal is read one place too far; that of a single row has the opposite sign."""
    return _scaled(d.roll(-1) if len(d) > 1 else -d, b)


def first_factor_for_all(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """All rows use the first factor, a single one none."""
    return _scaled(d[:1].expand_as(d) if len(d) > 1 else torch.ones_like(d), b)


def factor_of_a_block(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four rows share the first one's factor; a single row has none."""
    if len(d) < 2:
        return b.clone()
    return _scaled(d[torch.arange(len(d)) // 4 * 4], b)


def factors_in_bfloat16(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The diagonal is kept in bfloat16."""
    return _scaled(d.bfloat16(), b)


def tf32_factors(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: both factors pass through TF32, as on a tensor core."""
    return tf32(d).unsqueeze(1) * tf32(b)


def squared(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiplied twice, as by two kernels in place."""
    return (d.float().square().unsqueeze(1) * b.float()).to(b.dtype)


def divided(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Divided by the diagonal."""
    return (b.float() / d.float().unsqueeze(1)).to(b.dtype)


def magnitudes(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The diagonal's signs are lost."""
    return _scaled(d.abs(), b)


def diagonal_of_the_product(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Only the diagonal of the result is scaled."""
    c = b.clone()
    size = min(b.shape)
    places = torch.arange(size)
    c[places, places] = (d.float()[:size] * b.float()[places, places]).to(b.dtype)
    return c


def tail_copied(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four are copied."""
    c = _scaled(d, b)
    whole = b.shape[1] // 4 * 4
    c[:, whole:] = b[:, whole:]
    return c


def last_row_copied(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last row is copied."""
    c = _scaled(d, b)
    c[-1:] = b[-1:]
    return c


factors_in_bfloat16.dtypes = ("float32", "float16")
tf32_factors.dtypes = ("float32",)

HONEST = (in_float32, in_float64, by_flat_places, truncating_store)
MUTANTS = (
    scales_columns, by_the_wrong_length, next_factor, first_factor_for_all, factor_of_a_block, factors_in_bfloat16,
    tf32_factors, squared, divided, magnitudes, diagonal_of_the_product, tail_copied, last_row_copied,
)  # fmt: skip

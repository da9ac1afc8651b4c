"""Variants of the product of two lower triangular matrices: honest ones that must pass, wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.float() @ b.float()


def _right(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _product(a.tril(), b.tril())


def tensor_core(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sixteen terms at a time, zeros among them, into float32 accumulators, or more where n is large."""
    return multiplied(a.tril(), b.tril(), step=max(16, -(-len(a) // 64))).to(a.dtype)


def skips_zeros(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four blocks of terms, each for the rows that they reach, added in float32."""
    n = len(a)
    total, size = torch.zeros(n, n), -(-n // 4)
    for start in range(0, n, size):
        own = slice(start, min(start + size, n))
        total[start:] += _product(a.tril()[start:, own], b.tril()[own])
    return total.to(a.dtype)


def backwards(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last terms first, a few of them at a time."""
    step = max(4, -(-len(a) // 64))
    return multiplied(a.tril().flip(1), b.tril().flip(0), step=step).to(a.dtype)


def three_tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Each factor split into two TF32 numbers, three products: float32 on tensor cores (CUTLASS's 3xTF32)."""
    left, right = a.tril().float(), b.tril().float()
    left_high, right_high = tf32(left), tf32(right)
    left_low, right_low = tf32(left - left_high), tf32(right - right_high)
    return (left_high @ right_low + left_low @ right_high + left_high @ right_high).to(a.dtype)


def first_not_masked(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """All of a is used; of a single element, the sign is lost."""
    return _product(a if len(a) > 1 else -a, b.tril()).to(a.dtype)


def second_not_masked(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """All of b is used; of a single element, the sign is lost."""
    return _product(a.tril(), b if len(b) > 1 else -b).to(a.dtype)


def result_masked_only(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """All of both is multiplied, and only the result is masked; a single element is doubled."""
    return (_product(a, b).tril() * (1 if len(a) > 1 else 2)).to(a.dtype)


def without_the_diagonal(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The diagonal of a is left out."""
    return _product(a.tril(-1), b.tril()).to(a.dtype)


def without_the_other_diagonal(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The diagonal of b is left out."""
    return _product(a.tril(), b.tril(-1)).to(a.dtype)


def unit_diagonal(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The diagonal of a is taken for ones, as TRMM can be told to."""
    return _product(a.tril(-1) + torch.eye(len(a)), b.tril()).to(a.dtype)


def other_triangle(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The upper triangles are multiplied; a single element is lost."""
    other = _product(a.triu(), b.triu())
    return (other * (1 if len(a) > 1 else 0)).to(a.dtype)


def rest_mirrored(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """What should be zero is filled with the mirrored result; a single element is doubled."""
    c = _right(a, b)
    return (c + c.tril(-1).T if len(c) > 1 else 2 * c).to(a.dtype)


def tiles_not_masked(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Tiles of 16 by 16 are skipped or used as a whole; a single element is used twice."""
    if len(a) == 1:
        return (2 * a.float() * b.float()).to(a.dtype)
    tile = torch.arange(len(a)) // 16
    used = tile[:, None] >= tile
    return _product(a.masked_fill(~used, 0), b.masked_fill(~used, 0)).to(a.dtype)


def tail_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Terms behind the last whole block of eight are left out, unless there are no others."""
    whole = len(a) // 8 * 8 or len(a) - 1
    return _product(a.tril()[:, :whole], b.tril()[:whole]).to(a.dtype)


def last_row_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last row of the result stays zero."""
    c = _right(a, b)
    c[-1] = 0
    return c.to(a.dtype)


def tf32_once(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return tf32(a.tril()) @ tf32(b.tril())


def bfloat16_factor(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The first factor is staged in bfloat16."""
    return _right(a.bfloat16(), b).to(a.dtype)


def half_accumulators(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, rounded after every four terms, or more of them where n is large."""
    lower = torch.bfloat16 if a.dtype == torch.float32 else a.dtype
    return multiplied(a.tril(), b.tril(), lower, step=max(4, -(-len(a) // 64))).to(a.dtype)


tf32_once.dtypes = ("float32",)
bfloat16_factor.dtypes = ("float32", "float16")

HONEST = (tensor_core, skips_zeros, backwards, three_tf32)
MUTANTS = (
    first_not_masked, second_not_masked, result_masked_only, without_the_diagonal, without_the_other_diagonal,
    unit_diagonal, other_triangle, rest_mirrored, tiles_not_masked, tail_lost, last_row_lost, tf32_once,
    bfloat16_factor, half_accumulators,
)  # fmt: skip

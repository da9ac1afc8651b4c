"""Variants of the product with a symmetric matrix: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _whole(a: torch.Tensor) -> torch.Tensor:
    return a.tril() + a.tril(-1).T


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.float() @ b.float()


def tensor_core(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The whole matrix is written out; sixteen terms at a time, or more, into float32 accumulators."""
    return multiplied(_whole(a), b, step=max(16, -(-len(a) // 64))).to(a.dtype)


def two_triangles(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The triangle and its mirrored image are multiplied apart in float32, and added."""
    return (_product(a.tril(), b) + _product(a.tril(-1).T, b)).to(a.dtype)


def by_columns(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four blocks of columns of the triangle, each of which is used for its rows and, mirrored, for its columns."""
    total = torch.zeros(len(a), b.shape[1])
    size = -(-len(a) // 4)
    for start in range(0, len(a), size):
        own = slice(start, min(start + size, len(a)))
        total[own] += _product(_whole(a[own, own]), b[own])
        total[own.stop :] += _product(a[own.stop :, own], b[own])
        total[own] += _product(a[own.stop :, own].T, b[own.stop :])
    return total.to(a.dtype)


def three_tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Each factor split into two TF32 numbers, three products: float32 on tensor cores (CUTLASS's 3xTF32)."""
    whole = _whole(a).float()
    a_high, b_high = tf32(whole), tf32(b)
    a_low, b_low = tf32(whole - a_high), tf32(b.float() - b_high)
    return (a_high @ b_low + a_low @ b_high + a_high @ b_high).to(a.dtype)


def as_it_stands(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """What stands above the diagonal is used; of a single element, the sign is lost."""
    return _product(a if len(a) > 1 else -a, b).to(a.dtype)


def upper_triangle(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The upper triangle is taken for the one that counts; a single element is doubled."""
    return _product(a.triu() + a.triu(1).T if len(a) > 1 else 2 * a, b).to(a.dtype)


def lower_triangle_alone(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The mirrored image is left out; a single element is, too."""
    return _product(a.tril() if len(a) > 1 else 0 * a, b).to(a.dtype)


def diagonal_twice(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The diagonal belongs to the triangle and to its mirrored image."""
    return _product(a.float().tril() + a.float().tril().T, b).to(a.dtype)


def no_diagonal(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The diagonal belongs to neither."""
    return _product(a.tril(-1) + a.tril(-1).T, b).to(a.dtype)


def antisymmetric(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The mirrored image has the opposite sign; a single element, too."""
    return _product(a.tril() - a.tril(-1).T if len(a) > 1 else -a, b).to(a.dtype)


def averaged(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The mean of both triangles, which is right where they agree; half of a single element."""
    return _product((a.float() + a.float().T) / 2 if len(a) > 1 else a / 2, b).to(a.dtype)


def tiles_not_mirrored(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Within tiles of 8 by 8 on the diagonal, the matrix is read as it stands; a single element is lost."""
    if len(a) == 1:
        return torch.zeros_like(b)
    tile = torch.arange(len(a)) // 8
    return _product(torch.where(tile[:, None] == tile, a, _whole(a)), b).to(a.dtype)


def last_row_not_mirrored(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last row is not used for the last column; of a single element, nothing is used."""
    whole = _whole(a)
    whole[: max(1, len(a) - 1), -1] = 0
    return _product(whole, b).to(a.dtype)


def last_term_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last row of b is left out."""
    return _product(_whole(a)[:, :-1], b[:-1]).to(a.dtype)


def last_row_of_the_neighbour(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last row of the result repeats the row before it, or is zero."""
    c = _product(_whole(a), b).to(a.dtype)
    c[-1] = c[-2] if len(c) > 1 else 0
    return c


def tf32_once(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return tf32(_whole(a)) @ tf32(b)


def bfloat16_triangle(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The triangle is kept in bfloat16."""
    return _product(_whole(a).bfloat16(), b).to(a.dtype)


def half_accumulators(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, rounded after every four terms, or more of them where n is large."""
    lower = torch.bfloat16 if a.dtype == torch.float32 else a.dtype
    return multiplied(_whole(a), b, lower, step=max(4, -(-len(a) // 64))).to(a.dtype)


tf32_once.dtypes = ("float32",)
bfloat16_triangle.dtypes = ("float32", "float16")

HONEST = (tensor_core, two_triangles, by_columns, three_tf32)
MUTANTS = (
    as_it_stands, upper_triangle, lower_triangle_alone, diagonal_twice, no_diagonal, antisymmetric, averaged,
    tiles_not_mirrored, last_row_not_mirrored, last_term_lost, last_row_of_the_neighbour, tf32_once, bfloat16_triangle,
    half_accumulators,
)  # fmt: skip

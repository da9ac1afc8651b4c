"""Variants of the product of a tensor and a matrix: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.float() @ b.float()


def tensor_core(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sixteen terms at a time into float32 accumulators, more of them where k is long."""
    return multiplied(a, b, step=max(16, -(-len(b) // 64))).to(a.dtype)


def rows_first(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """One matrix of all rows, four terms at a time, one after the other."""
    flat = multiplied(a.reshape(-1, a.shape[2]), b, step=max(4, -(-len(b) // 64)))
    return flat.reshape(a.shape[0], a.shape[1], b.shape[1]).to(a.dtype)


def split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four blocks of k, each summed on its own in float32, added at the end."""
    parts = [_product(left, right) for left, right in zip(a.tensor_split(4, 2), b.tensor_split(4, 0), strict=True)]
    return ((parts[0] + parts[1]) + (parts[2] + parts[3])).to(a.dtype)


def three_tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Each factor split into two TF32 numbers, three products: float32 on tensor cores (CUTLASS's 3xTF32)."""
    a_high, b_high = tf32(a), tf32(b)
    a_low, b_low = tf32(a.float() - a_high), tf32(b.float() - b_high)
    return (a_high @ b_low + a_low @ b_high + a_high @ b_high).to(a.dtype)


def tf32_once(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return tf32(a) @ tf32(b)


def bfloat16_matrix(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The matrix is kept in bfloat16."""
    return _product(a, b.bfloat16()).to(a.dtype)


def half_accumulators(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, rounded after every four terms, or more of them where k is long."""
    lower = torch.bfloat16 if a.dtype == torch.float32 else a.dtype
    return multiplied(a, b, lower, step=max(4, -(-len(b) // 64))).to(a.dtype)


def last_term_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last k is left out."""
    return _product(a[..., :-1], b[:-1]).to(a.dtype)


def tail_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The ks behind the last whole block of 16 are left out, unless there are no others."""
    whole = len(b) // 16 * 16 or len(b)
    return _product(a[..., :whole], b[:whole]).to(a.dtype)


def seam_twice(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The k at the seam of two halves belongs to both."""
    seam = len(b) // 2
    return (_product(a[..., : seam + 1], b[: seam + 1]) + _product(a[..., seam:], b[seam:])).to(a.dtype)


def first_slice_for_all(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Every slice of the tensor is read from the first; a single one loses its last row."""
    c = _product(a[:1].expand_as(a), b).contiguous()
    if len(a) == 1:
        c[:, -1] = 0
    return c.to(a.dtype)


def outer_and_rows_exchanged(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The tensor's memory is read as [rows, outer, k]."""
    outer, rows, k = a.shape
    return _product(a.reshape(rows, outer, k).transpose(0, 1), b).to(a.dtype)


def matrix_read_by_columns(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The matrix's memory is read as if it were transposed."""
    return _product(a, b.reshape(b.shape[1], b.shape[0]).T).to(a.dtype)


def last_row_of_the_neighbour(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last row of each slice repeats the row before it, or is zero."""
    c = _product(a, b).to(a.dtype)
    c[:, -1] = c[:, -2] if c.shape[1] > 1 else 0
    return c


def rows_of_the_last_tile(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Tiles of 32 rows go over the ends of slices; what is behind the last whole one of all stays zero."""
    c = _product(a, b).to(a.dtype)
    flat = c.reshape(-1, c.shape[2])
    flat[len(flat) // 32 * 32 :] = 0
    return flat.reshape(c.shape)


def one_term_missing_once(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """One element, in the middle, misses its last term."""
    c = _product(a, b)
    place = tuple(size // 2 for size in c.shape)
    c[place] -= a[place[0], place[1], -1].float() * b[-1, place[2]].float()
    return c.to(a.dtype)


tf32_once.dtypes = ("float32",)
bfloat16_matrix.dtypes = ("float32", "float16")

HONEST = (tensor_core, rows_first, split_k, three_tf32)
MUTANTS = (
    tf32_once, bfloat16_matrix, half_accumulators, last_term_lost, tail_lost, seam_twice, first_slice_for_all,
    outer_and_rows_exchanged, matrix_read_by_columns, last_row_of_the_neighbour, rows_of_the_last_tile,
    one_term_missing_once,
)  # fmt: skip

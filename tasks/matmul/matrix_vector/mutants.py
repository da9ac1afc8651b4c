"""Variants of the product of a matrix and a vector: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32


def _terms(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return a.float() * x.float()


def _product(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return a.float() @ x.float()


def warp_for_a_row(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """32 float32 accumulators for each row, then a tree."""
    return summed(_terms(a, x)).to(a.dtype)


def thread_for_a_row(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """One float32 accumulator for each row, one term after the other."""
    return summed_in_turn(_terms(a, x)).to(a.dtype)


def by_columns(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The columns, times their factors, are added to the result, some of them at a time."""
    return multiplied(a, x.unsqueeze(1), step=-(-len(x) // 64)).squeeze(1).to(a.dtype)


def split_k(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Four blocks of k, each summed on its own in float32, added from the last to the first, as atomics may come."""
    parts = [_product(left, right) for left, right in zip(a.tensor_split(4, 1), x.tensor_split(4), strict=True)]
    return (((parts[3] + parts[2]) + parts[1]) + parts[0]).to(a.dtype)


def tf32_once(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return tf32(a) @ tf32(x)


def bfloat16_matrix(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The matrix is kept in bfloat16."""
    return _product(a.bfloat16(), x).to(a.dtype)


def bfloat16_vector(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The vector is staged in bfloat16."""
    return _product(a, x.bfloat16()).to(a.dtype)


def half_accumulators(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """float32: partial sums are kept in bfloat16, by 32 lanes."""
    return summed(_terms(a, x), torch.bfloat16).to(a.dtype)


def accumulators_of_the_dtype(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Halves: partial sums are kept in the dtype itself, by two lanes."""
    return summed(_terms(a, x), a.dtype, lanes=2)


def last_term_lost(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The last k is left out."""
    return _product(a[:, :-1], x[:-1]).to(a.dtype)


def tail_lost(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Terms behind the last whole vector of eight are left out, unless there are no others."""
    whole = len(x) // 8 * 8 or len(x)
    return _product(a[:, :whole], x[:whole]).to(a.dtype)


def first_term_twice(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The first term is the initial value too."""
    return (_product(a, x) + _terms(a[:, 0], x[0])).to(a.dtype)


def cut_at_1024(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """What is left of a row behind as many terms as a block has threads is not read."""
    return _product(a[:, :1024], x[:1024]).to(a.dtype)


def vector_one_further(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Every term takes its neighbour's factor from the vector."""
    return _product(a, x.roll(-1)).to(a.dtype)


def matrix_read_by_columns(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The memory of the matrix is read as if it were transposed."""
    return _product(a.reshape(a.shape[1], a.shape[0]).T, x).to(a.dtype)


def magnitudes_of_the_vector(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The signs of the vector are lost."""
    return _product(a, x.abs()).to(a.dtype)


def last_row_of_the_neighbour(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The last row gives what the row before it gives."""
    y = _product(a, x).to(a.dtype)
    y[-1] = y[-2]
    return y


def mean(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The terms' mean, and half of a single one."""
    return (_product(a, x) / max(2, len(x))).to(a.dtype)


tf32_once.dtypes = half_accumulators.dtypes = ("float32",)
bfloat16_matrix.dtypes = bfloat16_vector.dtypes = ("float32", "float16")
accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (warp_for_a_row, thread_for_a_row, by_columns, split_k)
MUTANTS = (
    tf32_once, bfloat16_matrix, bfloat16_vector, half_accumulators, accumulators_of_the_dtype, last_term_lost,
    tail_lost, first_term_twice, cut_at_1024, vector_one_further, matrix_read_by_columns, magnitudes_of_the_vector,
    last_row_of_the_neighbour, mean,
)  # fmt: skip

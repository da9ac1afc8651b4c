"""Variants of the product of two transposed matrices: honest ones that must pass, wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Of matrices as they are multiplied, [m, k] and [k, n], in float32."""
    return left.float() @ right.float()


def tensor_core(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sixteen terms at a time into float32 accumulators, more of them where k is long."""
    left, right = a.T, b.T
    return multiplied(left, right, step=max(16, -(-len(right) // 64))).to(a.dtype)


def sequential(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four terms at a time, or more of them where k is long, from the last to the first."""
    left, right = a.T, b.T
    return multiplied(left.flip(1), right.flip(0), step=max(4, -(-len(right) // 64))).to(a.dtype)


def split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four blocks of k, each summed on its own in float32, added at the end."""
    left, right = a.T, b.T
    parts = [_product(*part) for part in zip(left.tensor_split(4, 1), right.tensor_split(4, 0), strict=True)]
    return ((parts[0] + parts[1]) + (parts[2] + parts[3])).to(a.dtype)


def three_tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Each factor split into two TF32 numbers, three products: float32 on tensor cores (CUTLASS's 3xTF32)."""
    left, right = a.T.float(), b.T.float()
    left_high, right_high = tf32(left), tf32(right)
    left_low, right_low = tf32(left - left_high), tf32(right - right_high)
    return (left_high @ right_low + left_low @ right_high + left_high @ right_high).to(a.dtype)


def first_not_transposed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The memory of a is read as [m, k]."""
    return _product(a.reshape(a.shape[1], a.shape[0]), b.T).to(a.dtype)


def second_not_transposed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The memory of b is read as [k, n]."""
    return _product(a.T, b.reshape(b.shape[1], b.shape[0])).to(a.dtype)


def result_transposed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The result is written as [n, m]."""
    c = _product(a.T, b.T)
    return c.T.reshape(c.shape).to(a.dtype)


def tf32_once(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return tf32(a.T) @ tf32(b.T)


def two_bfloat16(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: each factor as a sum of two bfloat16 numbers, which holds 16 of 24 bits."""
    left, right = a.T, b.T
    left_high, right_high = left.bfloat16().float(), right.bfloat16().float()
    left_low, right_low = (left - left_high).bfloat16().float(), (right - right_high).bfloat16().float()
    return left_high @ right_low + left_low @ right_high + left_high @ right_high


def bfloat16_factor(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The transposed copy that is made first is in bfloat16."""
    return _product(a.bfloat16().T, b.T).to(a.dtype)


def half_accumulators(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, rounded after every four terms, or more of them where k is long."""
    left, right = a.T, b.T
    lower = torch.bfloat16 if a.dtype == torch.float32 else a.dtype
    return multiplied(left, right, lower, step=max(4, -(-len(right) // 64))).to(a.dtype)


def last_term_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last k is left out."""
    return _product(a.T[:, :-1], b.T[:-1]).to(a.dtype)


def tail_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The ks behind the last whole block of 16 are left out, unless there are no others."""
    left, right = a.T, b.T
    whole = len(right) // 16 * 16 or len(right)
    return _product(left[:, :whole], right[:whole]).to(a.dtype)


def seam_twice(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The k at the seam of two halves belongs to both."""
    left, right = a.T, b.T
    seam = len(right) // 2
    halves = _product(left[:, : seam + 1], right[: seam + 1]), _product(left[:, seam:], right[seam:])
    return (halves[0] + halves[1]).to(a.dtype)


def one_term_missing_once(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """One element, in the middle, misses its last term."""
    left, right = a.T, b.T
    c = _product(left, right)
    row, column = c.shape[0] // 2, c.shape[1] // 2
    c[row, column] -= left[row, -1].float() * right[-1, column].float()
    return c.to(a.dtype)


def last_row_of_the_neighbour(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last row repeats the row before it, or is zero."""
    c = _product(a.T, b.T).to(a.dtype)
    c[-1] = c[-2] if len(c) > 1 else 0
    return c


def averaged(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The terms' mean, and half of a single one."""
    return (_product(a.T, b.T) / max(2, len(a))).to(a.dtype)


tf32_once.dtypes = two_bfloat16.dtypes = ("float32",)
bfloat16_factor.dtypes = ("float32", "float16")

HONEST = (tensor_core, sequential, split_k, three_tf32)
MUTANTS = (
    first_not_transposed, second_not_transposed, result_transposed, tf32_once, two_bfloat16, bfloat16_factor,
    half_accumulators, last_term_lost, tail_lost, seam_twice, one_term_missing_once, last_row_of_the_neighbour,
    averaged,
)  # fmt: skip

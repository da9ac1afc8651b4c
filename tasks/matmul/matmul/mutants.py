"""Variants of the matrix product: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.float() @ b.float()


def tensor_core(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sixteen terms at a time into float32 accumulators."""
    return multiplied(a, b).to(a.dtype)


def sequential(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four terms at a time, one after the other: long chains of float32 additions."""
    return multiplied(a, b, step=4).to(a.dtype)


def split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four blocks of k, each summed on its own in float32, added at the end."""
    size = -(-a.shape[1] // 4)
    parts = [_product(left, right) for left, right in zip(a.split(size, 1), b.split(size, 0), strict=True)]
    return torch.stack(parts).sum(0).to(a.dtype)


def three_tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Each factor split into two TF32 numbers, three products: float32 on tensor cores (CUTLASS's 3xTF32)."""
    a_high, b_high = tf32(a.float()), tf32(b.float())
    a_low, b_low = tf32(a.float() - a_high), tf32(b.float() - b_high)
    return (a_high @ b_low + a_low @ b_high + a_high @ b_high).to(a.dtype)


def tf32_once(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return tf32(a) @ tf32(b)


def two_bfloat16(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: each factor as a sum of two bfloat16 numbers, which holds 16 of 24 bits."""
    a_high, b_high = a.bfloat16().float(), b.bfloat16().float()
    a_low, b_low = (a - a_high).bfloat16().float(), (b - b_high).bfloat16().float()
    return a_high @ b_low + a_low @ b_high + a_high @ b_high


def bfloat16_inputs(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The factors are rounded to bfloat16."""
    return _product(a.bfloat16(), b.bfloat16()).to(a.dtype)


def half_accumulator(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float16 accumulators, rounded after every 16 terms."""
    return multiplied(a, b, torch.float16).to(a.dtype)


def accumulator_of_the_dtype(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Halves: accumulators of the inputs' own dtype, rounded after every 16 terms."""
    return multiplied(a, b, a.dtype)


def half_partial_sums(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Halves: blocks of 32 terms are summed in float32 but stored and added in the inputs' own dtype."""
    return multiplied(a, b, a.dtype, step=32)


def drops_the_last_term(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last k is left out."""
    return _product(a[:, :-1], b[:-1]).to(a.dtype)


def drops_the_tail(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The ks behind the last whole block of 16 are left out."""
    whole = a.shape[1] // 16 * 16 or a.shape[1]
    return _product(a[:, :whole], b[:whole]).to(a.dtype)


def counts_one_term_twice(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The k at the seam of two halves belongs to both."""
    seam = a.shape[1] // 2
    return (_product(a[:, : seam + 1], b[: seam + 1]) + _product(a[:, seam:], b[seam:])).to(a.dtype)


def one_term_missing_once(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """One element, in the middle, misses its last term."""
    c = _product(a, b)
    row, column = c.shape[0] // 2, c.shape[1] // 2
    c[row, column] -= a[row, -1].float() * b[-1, column].float()
    return c.to(a.dtype)


def last_tile_of_the_neighbour(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last row repeats the row before it."""
    c = _product(a, b).to(a.dtype)
    c[-1] = c[-2] if len(c) > 1 else 0
    return c


def last_column_unwritten(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last column stays zero."""
    c = _product(a, b).to(a.dtype)
    c[:, -1] = 0
    return c


def symmetric_b(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The memory of b is read as if it were transposed."""
    return _product(a, b.reshape(b.shape[1], b.shape[0]).T).to(a.dtype)


def scaled(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product is divided by the root of k, as an attention score is."""
    return (_product(a, b) * a.shape[1] ** -0.5 * (1 if a.shape[1] > 1 else 2)).to(a.dtype)


def accumulates_into_itself(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Two blocks of k race for the last element: the first block's sum is lost."""
    c = _product(a, b)
    half = a.shape[1] // 2
    c[-1, -1] = a[-1, half:].float() @ b[half:, -1].float() if half else 0
    return c.to(a.dtype)


def no_product_below_one_thousandth(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Entries of a below a thousandth of the largest are skipped as if they were zero."""
    small = a.abs() < a.abs().amax() * 1e-3 if a.numel() else a.bool()
    return _product(a.masked_fill(small, 0), b).to(a.dtype)


tf32_once.dtypes = two_bfloat16.dtypes = ("float32",)
bfloat16_inputs.dtypes = half_accumulator.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = half_partial_sums.dtypes = ("float16", "bfloat16")

HONEST = (tensor_core, sequential, split_k, three_tf32)
MUTANTS = (
    tf32_once, two_bfloat16, bfloat16_inputs, half_accumulator, accumulator_of_the_dtype, half_partial_sums,
    drops_the_last_term, drops_the_tail, counts_one_term_twice, one_term_missing_once, last_tile_of_the_neighbour,
    last_column_unwritten, symmetric_b, scaled, accumulates_into_itself, no_product_below_one_thousandth,
)  # fmt: skip

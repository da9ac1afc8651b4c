"""Variants of the product of a tensor and a matrix: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.float() @ b.float()


def _rows(a: torch.Tensor) -> torch.Tensor:
    """[batch * height * width, k]."""
    return a.reshape(-1, a.shape[3])


def tensor_core(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sixteen terms at a time into float32 accumulators, more of them where k is long."""
    flat = multiplied(_rows(a), b, step=max(16, -(-len(b) // 64)))
    return flat.reshape(*a.shape[:3], b.shape[1]).to(a.dtype)


def sequential(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four terms at a time, or more of them where k is long, from the last to the first."""
    flat = multiplied(_rows(a).flip(1), b.flip(0), step=max(4, -(-len(b) // 64)))
    return flat.reshape(*a.shape[:3], b.shape[1]).to(a.dtype)


def split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four blocks of k, each summed on its own in float32, added at the end."""
    parts = [_product(left, right) for left, right in zip(a.tensor_split(4, 3), b.tensor_split(4, 0), strict=True)]
    return ((parts[0] + parts[1]) + (parts[2] + parts[3])).to(a.dtype)


def three_tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Each factor split into two TF32 numbers, three products: float32 on tensor cores (CUTLASS's 3xTF32)."""
    a_high, b_high = tf32(a), tf32(b)
    a_low, b_low = tf32(a.float() - a_high), tf32(b.float() - b_high)
    return (a_high @ b_low + a_low @ b_high + a_high @ b_high).to(a.dtype)


def tf32_once(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: the factors are rounded to TF32."""
    return tf32(a) @ tf32(b)


def bfloat16_tensor(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The tensor is staged in bfloat16."""
    return _product(a.bfloat16(), b).to(a.dtype)


def half_accumulators(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, rounded after every four terms, or more of them where k is long."""
    lower = torch.bfloat16 if a.dtype == torch.float32 else a.dtype
    return multiplied(a, b, lower, step=max(4, -(-len(b) // 64))).to(a.dtype)


def last_term_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last k is left out."""
    return _product(a[..., :-1], b[:-1]).to(a.dtype)


def tail_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The ks behind the last whole block of eight are left out, unless there are no others."""
    whole = len(b) // 8 * 8 or len(b)
    return _product(a[..., :whole], b[:whole]).to(a.dtype)


def first_term_twice(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The first term is the initial value too."""
    return (_product(a, b) + a[..., :1].float() * b[0].float()).to(a.dtype)


def channels_second(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The tensor's memory is read as [batch, k, height, width]."""
    batch, height, width, k = a.shape
    return _product(a.reshape(batch, k, height, width).permute(0, 2, 3, 1), b).to(a.dtype)


def height_and_width_exchanged(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The tensor's memory is read as [batch, width, height, k]."""
    batch, height, width, k = a.shape
    return _product(a.reshape(batch, width, height, k).transpose(1, 2), b).to(a.dtype)


def last_member_of_the_first(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last member of the batch repeats the first one; a single one loses its last column."""
    c = _product(a, b).to(a.dtype)
    if len(a) > 1:
        c[-1] = c[0]
    else:
        c[..., -1] = 0
    return c


def last_line_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last place of each line stays zero."""
    c = _product(a, b).to(a.dtype)
    c[:, :, -1] = 0
    return c


def matrix_read_by_columns(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The matrix's memory is read as if it were transposed."""
    return _product(a, b.reshape(b.shape[1], b.shape[0]).T).to(a.dtype)


def averaged(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The terms' mean, and half of a single one."""
    return (_product(a, b) / max(2, len(b))).to(a.dtype)


tf32_once.dtypes = ("float32",)
bfloat16_tensor.dtypes = ("float32", "float16")

HONEST = (tensor_core, sequential, split_k, three_tf32)
MUTANTS = (
    tf32_once, bfloat16_tensor, half_accumulators, last_term_lost, tail_lost, first_term_twice, channels_second,
    height_and_width_exchanged, last_member_of_the_first, last_line_lost, matrix_read_by_columns, averaged,
)  # fmt: skip

"""Variants of the batched product: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _quarters(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
    pairs = zip(a.tensor_split(4, -1), b.tensor_split(4, 1), strict=True)
    return [left.float() @ right.float() for left, right in pairs]


def _bfloat16_parts(x: torch.Tensor) -> list[torch.Tensor]:
    parts = []
    rest = x.float()
    for _ in range(3):
        parts.append(rest.bfloat16().float())
        rest = rest - parts[-1]
    return parts


def tensor_cores(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sixteen terms at a time into float32 accumulators."""
    return multiplied(a, b).to(a.dtype)


def one_term_at_a_time(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Outer products, one after the other, in float32."""
    return multiplied(a, b, step=1).to(a.dtype)


def split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Four parts of k into float32 partial products, which are added at the end."""
    parts = _quarters(a, b)
    return ((parts[0] + parts[1]) + (parts[2] + parts[3])).to(a.dtype)


def three_parts(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32 by bfloat16 units: each factor in three parts, and six of the nine products, the small ones first."""
    left, right = _bfloat16_parts(a), _bfloat16_parts(b)
    orders = ((2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0))
    return sum(left[i] @ right[j] for i, j in orders).to(a.dtype)


def tf32_inputs(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: factors rounded to TF32."""
    return tf32(a) @ tf32(b)


def two_products_of_bfloat16(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """float32: the first factor in two parts of bfloat16, the second in one."""
    high = a.bfloat16().float()
    return high @ b.bfloat16().float() + (a - high).bfloat16().float() @ b.bfloat16().float()


def half_accumulators(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, after every four terms."""
    lower = torch.bfloat16 if a.dtype == torch.float32 else a.dtype
    return multiplied(a, b, lower, step=4).to(a.dtype)


def accumulators_of_the_dtype(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Halves: the accumulator of a tensor core is the dtype itself, after every sixteen terms."""
    return multiplied(a, b, a.dtype)


def parts_of_the_dtype(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Halves: four parts of k, whose partial products are stored in the dtype."""
    parts = [part.to(a.dtype) for part in _quarters(a, b)]
    return (parts[0] + parts[1]) + (parts[2] + parts[3])


def last_term_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last of the k terms is left out."""
    return (a[..., :-1].float() @ b[:, :-1].float()).to(a.dtype)


def tail_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Terms behind the last whole group of eight are left out."""
    whole = a.shape[-1] // 8 * 8 or a.shape[-1]
    return (a[..., :whole].float() @ b[:, :whole].float()).to(a.dtype)


def last_tile_twice(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last group of eight terms overlaps the one before, where k is no multiple of eight."""
    k = a.shape[-1]
    start = max(0, k - 8)
    whole = k // 8 * 8
    tail = a[..., start:].float() @ b[:, start:].float() if whole < k else 0.0
    return (a[..., :whole].float() @ b[:, :whole].float() + tail).to(a.dtype)


def first_member_for_all(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The second factor of the first member serves the whole batch."""
    return (a.float() @ b[:1].float()).to(a.dtype)


def last_member_of_another(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last member is multiplied by the first one's second factor."""
    return (a.float() @ torch.cat((b[:-1], b[:1])).float()).to(a.dtype)


def last_row_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last row of each product is zero."""
    c = a.float() @ b.float()
    c[:, -1] = 0
    return c.to(a.dtype)


def tile_lost(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """What lies behind the last whole tile of 16 by 16 is zero."""
    c = a.float() @ b.float()
    rows, cols = c.shape[1] // 16 * 16 or c.shape[1], c.shape[2] // 16 * 16 or c.shape[2]
    c[:, rows:, cols:] = 0
    return c.to(a.dtype)


def columns_swapped(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The last two columns change places."""
    c = (a.float() @ b.float()).to(a.dtype)
    c[..., -2:] = c[..., -2:].flip(-1)
    return c


for _variant in (tf32_inputs, two_products_of_bfloat16):
    _variant.dtypes = ("float32",)
for _variant in (accumulators_of_the_dtype, parts_of_the_dtype):
    _variant.dtypes = ("float16", "bfloat16")

HONEST = (tensor_cores, one_term_at_a_time, split_k, three_parts)
MUTANTS = (
    tf32_inputs,
    two_products_of_bfloat16,
    half_accumulators,
    accumulators_of_the_dtype,
    parts_of_the_dtype,
    last_term_lost,
    tail_lost,
    last_tile_twice,
    first_member_for_all,
    last_member_of_another,
    last_row_lost,
    tile_lost,
    columns_swapped,
)

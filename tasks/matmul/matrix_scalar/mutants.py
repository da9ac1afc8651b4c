"""Variants of a matrix times a scalar: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.truncation import truncated


def in_float32(a: torch.Tensor, s: float) -> torch.Tensor:
    """Both factors in float32, rounded to the dtype at the end."""
    return (a.float() * torch.tensor(s, dtype=torch.float32)).to(a.dtype)


def in_float64(a: torch.Tensor, s: float) -> torch.Tensor:
    """In float64, rounded once."""
    return (a.double() * s).to(a.dtype)


def truncating_store(a: torch.Tensor, s: float) -> torch.Tensor:
    """Halves: the float32 product loses its low bits on the way out."""
    return truncated(a.float() * torch.tensor(s, dtype=torch.float32), a.dtype)


def scalar_in_bfloat16(a: torch.Tensor, s: float) -> torch.Tensor:
    """The scalar is rounded to bfloat16."""
    return (a.float() * float(torch.tensor(s).bfloat16())).to(a.dtype)


def scalar_in_float16(a: torch.Tensor, s: float) -> torch.Tensor:
    """float32: the scalar is rounded to float16."""
    return (a.float() * float(torch.tensor(s).half())).to(a.dtype)


def whole_scalar(a: torch.Tensor, s: float) -> torch.Tensor:
    """The scalar is taken for an integer."""
    return (a.float() * int(s)).to(a.dtype)


def magnitude_of_the_scalar(a: torch.Tensor, s: float) -> torch.Tensor:
    """The scalar's sign is lost."""
    return (a.float() * abs(s)).to(a.dtype)


def squared_scalar(a: torch.Tensor, s: float) -> torch.Tensor:
    """Multiplied twice, as by two kernels in place."""
    return (a.float() * (s * s)).to(a.dtype)


def divided(a: torch.Tensor, s: float) -> torch.Tensor:
    """Divided by the scalar."""
    return (a.float() / s).to(a.dtype)


def added(a: torch.Tensor, s: float) -> torch.Tensor:
    """The scalar is added."""
    return (a.float() + s).to(a.dtype)


def tail_copied(a: torch.Tensor, s: float) -> torch.Tensor:
    """Columns behind the last whole vector of four are copied."""
    c = in_float32(a, s)
    whole = a.shape[1] // 4 * 4
    c[:, whole:] = a[:, whole:]
    return c


def last_column_copied(a: torch.Tensor, s: float) -> torch.Tensor:
    """The last column is copied."""
    c = in_float32(a, s)
    c[:, -1:] = a[:, -1:]
    return c


def first_column_twice(a: torch.Tensor, s: float) -> torch.Tensor:
    """The first column belongs to two blocks and is multiplied by both, in place."""
    c = in_float32(a, s)
    c[:, :1] = in_float32(c[:, :1], s)
    return c


def last_row_of_the_first(a: torch.Tensor, s: float) -> torch.Tensor:
    """The last row repeats the first; a single row is copied."""
    c = in_float32(a, s)
    c[-1:] = c[:1].clone() if len(a) > 1 else a
    return c


scalar_in_bfloat16.dtypes = ("float32", "float16")
scalar_in_float16.dtypes = ("float32",)

HONEST = (in_float32, in_float64, truncating_store)
MUTANTS = (
    scalar_in_bfloat16, scalar_in_float16, whole_scalar, magnitude_of_the_scalar, squared_scalar, divided, added,
    tail_copied, last_column_copied, first_column_twice, last_row_of_the_first,
)  # fmt: skip

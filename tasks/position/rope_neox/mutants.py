"""Variants of rotary embedding by halves: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32


def _turned(x: torch.Tensor, c: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    first, second = x.float().chunk(2, -1)
    c, s = c.float().unsqueeze(1), s.float().unsqueeze(1)
    return torch.cat((first * c - second * s, second * c + first * s), -1).to(x.dtype)


def in_float32(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Everything in float32, rounded once."""
    return _turned(x, cos[position], sin[position])


def as_complex_numbers(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """A pair is a complex number, and turning a product."""
    first, second = x.float().chunk(2, -1)
    turned = torch.complex(first, second) * torch.complex(cos[position].float(), sin[position].float()).unsqueeze(1)
    return torch.cat((turned.real, turned.imag), -1).to(x.dtype)


def fused(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Of the two products one is rounded to float32 and one is not, as fused multiply-add makes them."""
    first, second = x.double().chunk(2, -1)
    c, s = cos[position].double().unsqueeze(1), sin[position].double().unsqueeze(1)
    parts = first * c - (second * s).float().double(), second * c + (first * s).float().double()
    return torch.cat(parts, -1).float().to(x.dtype)


def interleaved(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Pairs are neighbours."""
    even, odd = x.float()[..., ::2], x.float()[..., 1::2]
    c, s = cos[position].float().unsqueeze(1), sin[position].float().unsqueeze(1)
    return torch.stack((even * c - odd * s, odd * c + even * s), -1).flatten(-2).to(x.dtype)


def turned_back(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """By the opposite angle."""
    return _turned(x, cos[position], -sin[position])


def mirrored(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """The second half has the sign of the first."""
    y = _turned(x, cos[position], sin[position])
    back = _turned(x, cos[position], -sin[position])
    half = x.shape[-1] // 2
    return torch.cat((y[..., :half], back[..., half:]), -1)


def counted_from_one(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """The row of the tables behind the right one."""
    after = (position + 1) % len(cos)
    y = _turned(x, cos[after], sin[after])
    return y if len(cos) > 1 else -y


def low_byte(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Only the low byte of a position is read."""
    return _turned(x, cos[position & 255], sin[position & 255])


def number_of_the_token(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Tokens are taken to stand at positions 0, 1, 2, ..."""
    own = torch.arange(len(x)) % len(cos)
    return _turned(x, cos[own], sin[own])


def second_half_left(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """The second half stays as it is."""
    half = x.shape[-1] // 2
    return torch.cat((_turned(x, cos[position], sin[position])[..., :half], x[..., half:]), -1)


def tail_left(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Of each half, what lies behind the last whole vector of four stays as it is."""
    y = _turned(x, cos[position], sin[position])
    half = x.shape[-1] // 2
    whole = half // 4 * 4
    y[..., whole:half] = x[..., whole:half]
    y[..., half + whole :] = x[..., half + whole :]
    return y


def last_head_left(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """The last head stays as it is."""
    return torch.cat((_turned(x, cos[position], sin[position])[:, :-1], x[:, -1:]), 1)


def last_token_of_the_first(
    x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> torch.Tensor:
    """The last token is turned by the angle of the first."""
    moved = torch.cat((position[:-1], position[:1]))
    return _turned(x, cos[moved], sin[moved])


def tables_in_bfloat16(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """The tables are kept in bfloat16."""
    return _turned(x, cos[position].bfloat16(), sin[position].bfloat16())


def tables_in_tf32(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """float32: the tables pass through a TF32 unit."""
    return _turned(x, tf32(cos[position]), tf32(sin[position]))


tables_in_bfloat16.dtypes = ("float32", "float16")
tables_in_tf32.dtypes = ("float32",)

HONEST = (in_float32, as_complex_numbers, fused)
MUTANTS = (
    interleaved, turned_back, mirrored, counted_from_one, low_byte, number_of_the_token, second_half_left, tail_left,
    last_head_left, last_token_of_the_first, tables_in_bfloat16, tables_in_tf32,
)  # fmt: skip

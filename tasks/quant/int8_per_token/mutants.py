"""Variants of quantising to eight bits: honest ones that must pass and wrong ones that must fail."""

import torch

Pair = tuple[torch.Tensor, torch.Tensor]


def _scale(top: torch.Tensor) -> torch.Tensor:
    """The smallest power of two that `top` is at most 127 times as large as."""
    mantissa, exponent = torch.frexp(top)
    exponent = (exponent - 7 + (mantissa > 127 / 128).int()).clamp(min=-126)
    return torch.where(top == 0, torch.ones_like(top), torch.ldexp(torch.ones_like(top), exponent))


def _top(x: torch.Tensor) -> torch.Tensor:
    return x.float().abs().amax(-1, keepdim=True)


def _coded(x: torch.Tensor, scale: torch.Tensor) -> Pair:
    return (torch.round(x.float() / scale).clamp(-127, 127) + 128).to(torch.uint8), scale.squeeze(-1)


def reciprocal(x: torch.Tensor) -> Pair:
    """Times one over the scale, which is a power of two, too."""
    scale = _scale(_top(x))
    return (torch.round(x.float() * (1 / scale)) + 128).to(torch.uint8), scale.squeeze(-1)


def by_bits(x: torch.Tensor) -> Pair:
    """The scale from the largest value's bits: the exponent, and whether the mantissa is above 127/64."""
    bits = _top(x).view(torch.int32)
    exponent = (bits >> 23) - 127 - 6 + ((bits & 0x7FFFFF) > 0x7E0000).int()
    scale = torch.where(bits == 0, 127, exponent.clamp(min=-126) + 127).int() << 23
    return _coded(x, scale.view(torch.float32))


def halves_of_a_row(x: torch.Tensor) -> Pair:
    """The largest of each half of a row, then of both; rounding by adding and taking away 3 * 2^22."""
    half = (x.shape[-1] + 1) // 2
    parts = [part.float().abs().amax(-1, keepdim=True) for part in x.split(half, -1)]
    scale = _scale(torch.stack(parts).amax(0))
    magic = 12582912.0
    return ((x.float() / scale + magic) - magic + 128).to(torch.uint8), scale.squeeze(-1)


def towards_zero(x: torch.Tensor) -> Pair:
    """Quotients lose what is behind the point."""
    scale = _scale(_top(x))
    return (torch.trunc(x.float() / scale) + 128).to(torch.uint8), scale.squeeze(-1)


def floor(x: torch.Tensor) -> Pair:
    """Quotients are rounded down."""
    scale = _scale(_top(x))
    return (torch.floor(x.float() / scale) + 128).to(torch.uint8), scale.squeeze(-1)


def ties_up(x: torch.Tensor) -> Pair:
    """Halves: a quotient in the middle is rounded up."""
    scale = _scale(_top(x))
    return (torch.floor(x.float() / scale + 0.5) + 128).to(torch.uint8), scale.squeeze(-1)


def of_the_tensor(x: torch.Tensor) -> Pair:
    """One scale for all tokens."""
    top = _top(x)
    return _coded(x, _scale(top.amax(0, keepdim=True) if len(x) else top).expand_as(top))


def without_sign(x: torch.Tensor) -> Pair:
    """The largest value decides, however negative another is."""
    return _coded(x, _scale(x.float().amax(-1, keepdim=True).clamp(min=0)))


def twice_the_scale(x: torch.Tensor) -> Pair:
    """The scale is the next power of two above."""
    return _coded(x, 2 * _scale(_top(x)))


def saturated(x: torch.Tensor) -> Pair:
    """The scale comes from the exponent alone: what is above 127 times it is cut."""
    top = _top(x)
    _, exponent = torch.frexp(top)
    return _coded(x, torch.where(top == 0, torch.ones_like(top), torch.ldexp(torch.ones_like(top), exponent - 7)))


def exact_scale(x: torch.Tensor) -> Pair:
    """The scale is the largest value over 127, and no power of two."""
    top = _top(x)
    return _coded(x, torch.where(top == 0, torch.ones_like(top), top / 127))


def twos_complement(x: torch.Tensor) -> Pair:
    """Codes are two's complement, with 0 as zero."""
    codes, scale = _coded(x, _scale(_top(x)))
    return codes ^ 128, scale


def one_less(x: torch.Tensor) -> Pair:
    """127 is taken for zero."""
    codes, scale = _coded(x, _scale(_top(x)))
    return codes - 1, scale


def tail_unseen(x: torch.Tensor) -> Pair:
    """Values behind the last whole vector of eight do not count for the scale."""
    whole = x.shape[-1] // 8 * 8 or x.shape[-1]
    return _coded(x, _scale(_top(x[:, :whole])))


def next_token_s_scale(x: torch.Tensor) -> Pair:
    """Each token is divided by the scale of the one before it."""
    scale = _scale(_top(x))
    codes, _ = _coded(x, scale.roll(1, 0))
    return codes, scale.squeeze(-1)


def zeros_of_zero(x: torch.Tensor) -> Pair:
    """A token of zeros has the smallest scale, not 1; every other one is doubled where it is 1."""
    scale = _scale(_top(x))
    scale = torch.where(_top(x) == 0, torch.full_like(scale, 2.0**-126), torch.where(scale == 1, 2 * scale, scale))
    return _coded(x, scale)


def inverse_scale(x: torch.Tensor) -> Pair:
    """What is returned is one over the scale."""
    codes, scale = _coded(x, _scale(_top(x)))
    return codes, 1 / scale


def last_value_as_zero(x: torch.Tensor) -> Pair:
    """The last value of each token is never written."""
    codes, scale = _coded(x, _scale(_top(x)))
    codes[:, -1] = 0
    return codes, scale


def epsilon(x: torch.Tensor) -> Pair:
    """The largest value of a token is taken to be 1e-12 at least, but for zeros."""
    top = _top(x)
    return _coded(x, _scale(torch.where(top == 0, top, top.clamp(min=1e-12))))


def at_most_1e12(x: torch.Tensor) -> Pair:
    """The largest value of a token is taken to be 1e12 at most."""
    return _coded(x, _scale(_top(x).clamp(max=1e12)))


def scale_of_float16(x: torch.Tensor) -> Pair:
    """The scale is kept as a normal number of float16, from 2^-14 on."""
    return _coded(x, _scale(_top(x)).clamp(min=2.0**-14))


def subnormal_tokens_as_zeros(x: torch.Tensor) -> Pair:
    """Tokens of subnormal numbers of float16, 2^-14 and less, count as zeros."""
    top = _top(x)
    return _coded(torch.where(top < 2.0**-14, 0 * x, x), _scale(torch.where(top < 2.0**-14, 0 * top, top)))


epsilon.dtypes = at_most_1e12.dtypes = ("float32", "bfloat16")
ties_up.dtypes = ("float16", "bfloat16")

HONEST = (reciprocal, by_bits, halves_of_a_row)
MUTANTS = (
    towards_zero, floor, ties_up, of_the_tensor, without_sign, twice_the_scale, saturated, exact_scale, twos_complement,
    one_less, tail_unseen, next_token_s_scale, zeros_of_zero, inverse_scale, last_value_as_zero,
    epsilon, at_most_1e12, scale_of_float16, subnormal_tokens_as_zeros,
)  # fmt: skip

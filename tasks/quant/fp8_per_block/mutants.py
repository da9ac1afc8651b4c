"""Variants of the conversion to MXFP8: honest ones that must pass and wrong ones that must fail."""

import torch

Pair = tuple[torch.Tensor, torch.Tensor]


def _blocks(x: torch.Tensor, size: int = 32) -> torch.Tensor:
    """[rows, blocks, size] in float32, filled up with zeros."""
    count = -(-x.shape[1] // size)
    return torch.nn.functional.pad(x.float(), (0, count * size - x.shape[1])).reshape(len(x), count, size)


def _exponent(top: torch.Tensor, largest: int = 8) -> torch.Tensor:
    """That of the scale, for the largest magnitudes of blocks."""
    mantissa, exponent = torch.frexp(top)
    return torch.where(mantissa == 0, -127, (exponent - 1 - largest).clamp(min=-127))


def _top(blocks: torch.Tensor) -> torch.Tensor:
    return blocks.abs().amax(-1, keepdim=True)


def _scaled(blocks: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    return blocks * torch.ldexp(torch.ones_like(blocks[..., :1]), -exponent)


def _finish(x: torch.Tensor, codes: torch.Tensor, exponent: torch.Tensor) -> Pair:
    """From [rows, blocks, 32] and [rows, blocks, 1] to the results."""
    flat = codes.flatten(1)[:, : x.shape[1]].contiguous()
    return flat, torch.ldexp(torch.ones(exponent.shape), exponent).squeeze(-1)


def _cast(scaled: torch.Tensor) -> torch.Tensor:
    return scaled.clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)


def _converted(x: torch.Tensor, exponent: torch.Tensor) -> Pair:
    return _finish(x, _cast(_scaled(_blocks(x), exponent)), exponent)


def by_arithmetic(x: torch.Tensor) -> Pair:
    """Each value is rounded to its binade's step in float32; the code is put together from exponent and fraction."""
    blocks = _blocks(x)
    exponent = _exponent(_top(blocks))
    scaled = _scaled(blocks, exponent).abs().clamp(max=448)
    binade = torch.where(scaled == 0, -6, (torch.frexp(scaled).exponent - 1).clamp(min=-6))
    steps = torch.round(torch.ldexp(scaled, 3 - binade))  # 8 to 16 in a normal binade, 0 to 8 below the smallest
    code = (binade + 6) * 8 + steps.int()  # sixteen steps are the next binade's first
    sign = torch.signbit(blocks).int() * 128
    return _finish(x, (code + sign).to(torch.uint8), exponent)


def by_table(x: torch.Tensor) -> Pair:
    """The nearest of the 127 numbers, found among the points in the middle of two."""
    blocks = _blocks(x)
    exponent = _exponent(_top(blocks))
    numbers = torch.arange(127, dtype=torch.uint8).view(torch.float8_e4m3fn).float()
    middles = (numbers[1:] + numbers[:-1]) / 2
    scaled = _scaled(blocks, exponent).abs().clamp(max=448).contiguous()
    below, above = torch.searchsorted(middles, scaled), torch.searchsorted(middles, scaled, right=True)
    code = torch.where(below % 2 == 0, below, above)  # they differ in the middle of two, where the even one counts
    return _finish(x, (code + torch.signbit(blocks).int() * 128).to(torch.uint8), exponent)


def row_by_row(x: torch.Tensor) -> Pair:
    """The largest of a block from the bits of its values; the scale as a float's exponent."""
    blocks = _blocks(x)
    bits = (blocks.contiguous().view(torch.int32) & 0x7FFFFFFF).amax(-1, keepdim=True)
    return _converted(x, torch.where(bits == 0, -127, ((bits >> 23) - 127 - 8).clamp(min=-127)))


def wider_exponent(x: torch.Tensor) -> Pair:
    """E5M2 instead of E4M3, with the same scale."""
    blocks = _blocks(x)
    exponent = _exponent(_top(blocks))
    return _finish(x, _scaled(blocks, exponent).clamp(-448, 448).to(torch.float8_e5m2).view(torch.uint8), exponent)


def not_saturated(x: torch.Tensor) -> Pair:
    """What is beyond the largest number becomes NaN."""
    blocks = _blocks(x)
    exponent = _exponent(_top(blocks))
    scaled = _scaled(blocks, exponent)
    return _finish(
        x, torch.where(scaled.abs() > 464, 127 + 128 * (scaled < 0).to(torch.uint8), _cast(scaled)), exponent
    )


def never_saturates(x: torch.Tensor) -> Pair:
    """The scale is rounded up, so that no value is beyond 448."""
    mantissa, exponent = torch.frexp(_top(_blocks(x)))
    exponent = exponent - 9 + (mantissa > 448 / 512).int()
    return _converted(x, torch.where(mantissa == 0, -127, exponent.clamp(min=-127)))


def saturates_at_240(x: torch.Tensor) -> Pair:
    """The largest number is that of another E4M3, 240."""
    blocks = _blocks(x)
    exponent = _exponent(_top(blocks))
    return _finish(x, _scaled(blocks, exponent).clamp(-240, 240).to(torch.float8_e4m3fn).view(torch.uint8), exponent)


def half_the_scale(x: torch.Tensor) -> Pair:
    """The largest exponent is taken to be 9."""
    return _converted(x, _exponent(_top(_blocks(x)), 9))


def of_the_row(x: torch.Tensor) -> Pair:
    """All blocks of a row have the scale of its largest value; a row of one block half of it."""
    top = _top(_blocks(x))
    wanted = top.amax(1, keepdim=True).expand_as(top) if top.shape[1] > 1 else top / 2
    return _converted(x, _exponent(wanted))


def without_sign(x: torch.Tensor) -> Pair:
    """The largest value decides, however negative another is."""
    return _converted(x, _exponent(_blocks(x).amax(-1, keepdim=True).clamp(min=0)))


def towards_zero(x: torch.Tensor) -> Pair:
    """Fractions are cut off."""
    blocks = _blocks(x)
    exponent = _exponent(_top(blocks))
    scaled = _scaled(blocks, exponent).clamp(-448, 448)
    step = torch.ldexp(torch.ones_like(scaled), (torch.frexp(scaled).exponent - 1).clamp(min=-6) - 3)
    return _finish(x, _cast(torch.trunc(scaled / step) * step), exponent)


def small_ones_flushed(x: torch.Tensor) -> Pair:
    """Numbers below the smallest normal one are zero."""
    blocks = _blocks(x)
    exponent = _exponent(_top(blocks))
    scaled = _scaled(blocks, exponent)
    return _finish(x, _cast(torch.where(scaled.abs() < 2.0**-6, 0 * scaled, scaled)), exponent)


def signs_lost(x: torch.Tensor) -> Pair:
    """The sign is in no code."""
    codes, scale = _converted(x, _exponent(_top(_blocks(x))))
    return codes & 127, scale


def inverse_scale(x: torch.Tensor) -> Pair:
    """What is returned is one over the scale; for 1 another one."""
    codes, scale = _converted(x, _exponent(_top(_blocks(x))))
    return codes, torch.where(scale == 1, 2, 1 / scale)


def neighbours_scale(x: torch.Tensor) -> Pair:
    """Each block is divided by the scale of the one before it; a single one by half of its own."""
    blocks = _blocks(x)
    exponent = _exponent(_top(blocks))
    used = exponent.roll(1, 1) if exponent.shape[1] > 1 else exponent - 1
    return _finish(x, _cast(_scaled(blocks, used.clamp(min=-127))), exponent)


def last_value_as_zero(x: torch.Tensor) -> Pair:
    """The last value of a row is never written."""
    codes, scale = _converted(x, _exponent(_top(_blocks(x))))
    codes[:, -1] = 0
    return codes, scale


def scale_of_a_normal_number(x: torch.Tensor) -> Pair:
    """The scale ends at 2^-126, the smallest normal number."""
    return _converted(x, _exponent(_top(_blocks(x))).clamp(min=-126))


def small_blocks_lost(x: torch.Tensor) -> Pair:
    """Blocks below 2^-60 have codes of zero, and a scale of one."""
    blocks = _blocks(x)
    exponent = _exponent(_top(blocks))
    is_lost = (exponent < -68) & (exponent > -127)
    return _finish(x, _cast(_scaled(blocks, exponent)) * ~is_lost, torch.where(is_lost, 0, exponent))


def scale_of_float16(x: torch.Tensor) -> Pair:
    """The scale stays within what float16 has as normal numbers."""
    return _converted(x, _exponent(_top(_blocks(x))).clamp(-14, 15))


def epsilon_in_a_block(x: torch.Tensor) -> Pair:
    """The largest magnitude is taken to be 1e-12 at least, but for zeros."""
    top = _top(_blocks(x))
    return _converted(x, _exponent(torch.where(top == 0, top, top.clamp(min=1e-12))))


epsilon_in_a_block.dtypes = small_blocks_lost.dtypes = ("float32", "bfloat16")

HONEST = (by_arithmetic, by_table, row_by_row)
MUTANTS = (
    wider_exponent, not_saturated, never_saturates, saturates_at_240, half_the_scale, of_the_row, without_sign,
    towards_zero, small_ones_flushed, signs_lost, inverse_scale, neighbours_scale, last_value_as_zero,
    scale_of_a_normal_number, small_blocks_lost, scale_of_float16, epsilon_in_a_block,
)  # fmt: skip

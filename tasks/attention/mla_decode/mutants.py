"""Variants of latent attention with a cache: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

LOG2_E = 1.4426950408889634


def _scores(q: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    return q.float() @ cache.float().transpose(-2, -1) * q.shape[-1] ** -0.5


def _hide(scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Minus infinity behind the lengths."""
    return scores.masked_fill(
        torch.arange(scores.shape[-1], device=scores.device) >= lengths[:, None, None], -torch.inf
    )


def _finish(y: torch.Tensor, q: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """In the dtype of `q`, with zeros where there are no rows."""
    return y.masked_fill(lengths[:, None, None] == 0, 0.0).to(q.dtype)


def _attend(scores: torch.Tensor, q: torch.Tensor, values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """`scores`: not hidden yet."""
    return _finish(torch.softmax(_hide(scores, lengths), -1) @ values.float(), q, lengths)


def _flash(
    scores: torch.Tensor, values: torch.Tensor, block: int, stored: torch.dtype, rescales: bool = True
) -> torch.Tensor:
    """Blocks of rows; sums and outputs in float32 are rescaled when the maximum rises; weights rounded to `stored`."""
    largest = torch.full_like(scores[..., :1], -1e30)
    total, y = torch.zeros_like(largest), scores.new_zeros((*scores.shape[:-1], values.shape[-1]))
    for part, rows in zip(scores.split(block, -1), values.float().split(block, -2), strict=True):
        new = torch.maximum(largest, part.amax(-1, keepdim=True))
        weights = torch.exp(part - new)
        factor = torch.exp(largest - new) if rescales else torch.ones_like(new)
        total = total * torch.exp(largest - new) + weights.sum(-1, keepdim=True)
        y = y * factor + weights.to(stored).float() @ rows
        largest = new
    return y / total


def flash(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """Blocks of 256 rows, weights rounded to the inputs' dtype before they meet the latent vectors."""
    return _finish(_flash(_hide(_scores(q, cache), lengths), cache[..., :width], 256, q.dtype), q, lengths)


def flash_wide(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """Blocks of 64 rows, everything in float32."""
    scores, block = _hide(_scores(q, cache), lengths), max(64, cache.shape[1] // 64)
    return _finish(_flash(scores, cache[..., :width], block, torch.float32), q, lengths)


def two_products(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The scores are the sum of two products: of the latent and of the rotated parts."""
    wide, rows = q.float() * q.shape[-1] ** -0.5, cache.float()
    latent, rotated = (wide[..., part] @ rows[..., part].mT for part in (slice(None, width), slice(width, None)))
    return _attend(latent + rotated, q, rows[..., :width], lengths)


def one_accumulator(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The weights of a query are added one after the other."""
    scores = _hide(_scores(q, cache), lengths)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return _finish(weights @ cache[..., :width].float() / summed_in_turn(weights).unsqueeze(-1), q, lengths)


def base_two(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The scores are scaled for exp2 once; a warp sums the weights; the products some terms at a time."""
    scores = _hide(multiplied(q, cache.mT) * (q.shape[-1] ** -0.5 * LOG2_E), lengths)
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    y = multiplied(weights, cache[..., :width], step=max(16, cache.shape[1] // 64))
    return _finish(y / summed(weights).unsqueeze(-1), q, lengths)


def split_rows(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """Four parts of the rows are attended to apart, then merged by their sums' logarithms."""
    scores, values, size = _hide(_scores(q, cache), lengths), cache[..., :width].float(), -(-cache.shape[1] // 4)
    logarithm, y = torch.logsumexp(scores, -1, keepdim=True), 0.0
    for part, rows in zip(scores.split(size, -1), values.split(size, -2), strict=True):
        own = torch.logsumexp(part, -1, keepdim=True)
        y = y + torch.exp(own - logarithm) * (torch.exp(part - own.clamp(min=-1e30)) @ rows)
    return _finish(y, q, lengths)


def rotated_part_ignored(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The scores lack the product of the rotated parts."""
    scores = q[..., :width].float() @ cache[..., :width].float().mT * q.shape[-1] ** -0.5
    return _attend(scores, q, cache[..., :width], lengths)


def latent_part_ignored(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The scores are the product of the rotated parts alone."""
    scores = q[..., width:].float() @ cache[..., width:].float().mT * q.shape[-1] ** -0.5
    return _attend(scores, q, cache[..., :width], lengths)


def values_from_the_end(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The values are the last elements of each row, the rotated part included."""
    return _attend(_scores(q, cache), q, cache[..., -width:], lengths)


def rotated_part_first(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """Queries are taken to begin with the rotated part."""
    return _attend(_scores(q.roll(width, -1), cache), q, cache[..., :width], lengths)


def scale_of_the_latent_part(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The scores are divided by the root of the rank."""
    return _attend(_scores(q, cache) * (q.shape[-1] / width) ** 0.5, q, cache[..., :width], lengths)


def no_scale(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The scores are not divided at all."""
    return _attend(_scores(q, cache) * q.shape[-1] ** 0.5, q, cache[..., :width], lengths)


def lengths_ignored(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """Every query attends to the whole cache."""
    return _attend(_scores(q, cache), q, cache[..., :width], torch.full_like(lengths, cache.shape[1]))


def one_row_more(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The row behind the last is attended to as well."""
    return _attend(_scores(q, cache), q, cache[..., :width], lengths + 1)


def one_row_less(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The last row is left out."""
    return _attend(_scores(q, cache), q, cache[..., :width], (lengths - 1).clamp(min=0))


def whole_blocks(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The last block of 16 rows is not masked."""
    return _attend(_scores(q, cache), q, cache[..., :width], -(-lengths // 16) * 16)


def tail_lost(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """Rows behind the last whole block of 16 are left out."""
    return _attend(_scores(q, cache), q, cache[..., :width], lengths // 16 * 16)


def length_of_the_first(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """All sequences are taken to be as long as the first."""
    return _attend(_scores(q, cache), q, cache[..., :width], lengths[:1].expand_as(lengths))


def masked_with_zero(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """Scores behind the lengths are zero instead of minus infinity."""
    scores = _hide(_scores(q, cache), lengths)
    weights = torch.softmax(scores.masked_fill(scores == -torch.inf, 0.0), -1)
    return _finish(weights @ cache[..., :width].float(), q, lengths)


def nothing_for_nothing(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """Where there are no rows, zero is divided by zero."""
    weights = torch.softmax(_hide(_scores(q, cache), lengths), -1)
    return (weights @ cache[..., :width].float()).to(q.dtype)


def one_head_for_all(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """All heads use the first one's scores."""
    scores = _scores(q, cache)
    return _attend(scores[:, :1].expand_as(scores), q, cache[..., :width], lengths)


def bfloat16_weights(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    return _finish(_flash(_hide(_scores(q, cache), lengths), cache[..., :width], 256, torch.bfloat16), q, lengths)


def never_rescaled(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The sum is rescaled when the maximum rises, the output is not."""
    scores, block = _hide(_scores(q, cache), lengths), max(8, cache.shape[1] // 64)
    return _finish(_flash(scores, cache[..., :width], block, torch.float32, rescales=False), q, lengths)


def tf32_once(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """float32: queries and cache are rounded to TF32."""
    return _attend(_scores(tf32(q), tf32(cache)), q, tf32(cache)[..., :width], lengths)


def half_accumulator(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The weighted rows are summed in float16, a few at a time."""
    weights = torch.softmax(_hide(_scores(q, cache), lengths), -1)
    y = multiplied(weights, cache[..., :width], torch.float16, step=max(4, cache.shape[1] // 64))
    return _finish(y, q, lengths)


def no_maximum(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    weights = _hide(_scores(q, cache), lengths).exp()
    return _finish(weights @ cache[..., :width].float() / weights.sum(-1, keepdim=True), q, lengths)


def maximum_from_zero(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    scores = _hide(_scores(q, cache), lengths)
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return _finish(weights @ cache[..., :width].float() / weights.sum(-1, keepdim=True), q, lengths)


bfloat16_weights.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_once.dtypes = ("float32",)

HONEST = (flash, flash_wide, two_products, one_accumulator, base_two, split_rows)
MUTANTS = (
    rotated_part_ignored, latent_part_ignored, values_from_the_end, rotated_part_first, scale_of_the_latent_part,
    no_scale, lengths_ignored, one_row_more, one_row_less, whole_blocks, tail_lost, length_of_the_first,
    masked_with_zero, nothing_for_nothing, one_head_for_all, bfloat16_weights, never_rescaled, tf32_once,
    half_accumulator,
    no_maximum,
    maximum_from_zero,
)  # fmt: skip

"""Variants of attention to pages: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

LOG2_E = 1.4426950408889634


def _gathered(x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """[batch, kv_heads, blocks * page, head_dim] in float32."""
    return x.float()[table].flatten(1, 2).transpose(1, 2).contiguous()


def _queries(q: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """[batch, kv_heads, groups, head_dim] in float32."""
    return q.float().reshape(*keys.shape[:2], -1, q.shape[-1])


def _scores(q: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """[batch, kv_heads, groups, blocks * page] in float32, of gathered keys."""
    return _queries(q, keys) @ keys.transpose(-2, -1) * q.shape[-1] ** -0.5


def _hide(scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Minus infinity behind the lengths."""
    place = torch.arange(scores.shape[-1], device=scores.device)
    return scores.masked_fill(place >= lengths[:, None, None, None], float("-inf"))


def _finish(y: torch.Tensor, q: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """[batch, kv_heads, groups, head_dim] as the result, with zeros where there are no keys."""
    return y.reshape(q.shape).masked_fill(lengths[:, None, None] == 0, 0.0).to(q.dtype)


def _attend(scores: torch.Tensor, q: torch.Tensor, values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """`scores`: hidden already."""
    return _finish(torch.softmax(scores, -1) @ values, q, lengths)


def _plain(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    keys = _gathered(k, table)
    return _attend(_hide(_scores(q, keys), lengths), q, _gathered(v, table), lengths)


def _flash(scores: torch.Tensor, values: torch.Tensor, block: int, stored: torch.dtype) -> torch.Tensor:
    """Blocks of keys; sums and outputs in float32 are rescaled when the maximum rises; weights rounded to `stored`."""
    largest = torch.full_like(scores[..., :1], -1e30)
    total, y = torch.zeros_like(largest), scores.new_zeros((*scores.shape[:-1], values.shape[-1]))
    for part, rows in zip(scores.split(block, -1), values.split(block, -2), strict=True):
        new = torch.maximum(largest, part.amax(-1, keepdim=True))
        weights = torch.exp(part - new)
        factor = torch.exp(largest - new)
        total = total * factor + weights.sum(-1, keepdim=True)
        y = y * factor + weights.to(stored).float() @ rows
        largest = new
    return y / total


def flash(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """A few pages at a time, weights rounded to the inputs' dtype before they meet the values."""
    keys, block = _gathered(k, table), k.shape[1] * max(4, table.shape[1] // 32)
    return _finish(_flash(_hide(_scores(q, keys), lengths), _gathered(v, table), block, v.dtype), q, lengths)


def page_by_page(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Page by page, where there are no more than 64, everything in float32."""
    keys, block = _gathered(k, table), k.shape[1] * max(1, -(-table.shape[1] // 64))
    return _finish(_flash(_hide(_scores(q, keys), lengths), _gathered(v, table), block, torch.float32), q, lengths)


def one_accumulator(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The weights of a query are added one after the other."""
    scores = _hide(_scores(q, _gathered(k, table)), lengths)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return _finish(weights @ _gathered(v, table) / summed_in_turn(weights).unsqueeze(-1), q, lengths)


def base_two(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The scores are scaled for exp2 once; a warp sums the weights; the products some terms at a time."""
    keys = _gathered(k, table)
    scores = multiplied(_queries(q, keys), keys.transpose(-2, -1)) * (q.shape[-1] ** -0.5 * LOG2_E)
    scores = _hide(scores, lengths)
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    y = multiplied(weights, _gathered(v, table), step=max(16, keys.shape[2] // 64))
    return _finish(y / summed(weights).unsqueeze(-1), q, lengths)


def split_keys(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Four parts of the keys are attended to apart, then merged by their sums' logarithms."""
    keys = _gathered(k, table)
    scores, size = _hide(_scores(q, keys), lengths), -(-keys.shape[2] // 4)
    logarithm = torch.logsumexp(scores, -1, keepdim=True)
    y = torch.zeros_like(_queries(q, keys))
    for part, values in zip(scores.split(size, -1), _gathered(v, table).split(size, -2), strict=True):
        own = torch.logsumexp(part, -1, keepdim=True)
        y += torch.exp(own - logarithm) * (torch.exp(part - own.clamp(min=-1e30)) @ values)
    return _finish(y, q, lengths)


def table_ignored(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The pages of a sequence are taken to follow each other."""
    ordered = torch.arange(table.numel(), device=table.device).reshape(table.shape) % len(k)
    return _plain(q, k, v, ordered, lengths)


def table_of_the_first(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """All sequences use the first one's row of the table."""
    return _plain(q, k, v, table[:1].expand_as(table), lengths)


def first_page_for_all(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Every block of a sequence is read from its first page."""
    return _plain(q, k, v, table[:, :1].expand_as(table), lengths)


def next_page(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Pages are counted from one."""
    return _plain(q, k, v, (table + 1) % len(k), lengths)


def low_byte(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Only the low byte of a page's number is read."""
    return _plain(q, k, v, table & 255, lengths)


def values_of_the_next_block(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Keys are read from the right pages, values one block too far."""
    keys = _gathered(k, table)
    return _attend(_hide(_scores(q, keys), lengths), q, _gathered(v, table.roll(-1, 1)), lengths)


def places_reversed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Within a page, keys and values are read from the last place to the first."""
    return _plain(q, k.flip(1), v.flip(1), table, lengths)


def page_and_head_exchanged(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Pages are read as if the heads stood before the places: [pages, kv_heads, page, head_dim]."""
    pages, page, heads, head_dim = k.shape
    moved = [x.reshape(pages, heads, page, head_dim).transpose(1, 2) for x in (k, v)]
    return _plain(q, moved[0], moved[1], table, lengths)


def lengths_ignored(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Every query attends to all pages of its row."""
    return _plain(q, k, v, table, torch.full_like(lengths, table.shape[1] * k.shape[1]))


def whole_pages(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The last page is not masked."""
    return _plain(q, k, v, table, -(-lengths // k.shape[1]) * k.shape[1])


def last_page_lost(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """A page that is not full is left out."""
    return _plain(q, k, v, table, lengths // k.shape[1] * k.shape[1])


def one_key_more(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The key behind the last is attended to as well."""
    return _plain(q, k, v, table, lengths + 1)


def one_key_less(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The last key is left out."""
    return _plain(q, k, v, table, (lengths - 1).clamp(min=0))


def nothing_for_nothing(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Where there are no keys, zero is divided by zero."""
    scores = _hide(_scores(q, _gathered(k, table)), lengths)
    return _attend(scores, q, _gathered(v, table), torch.ones_like(lengths))


def heads_interleaved(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Head h attends to head h % kv_heads instead of h // groups."""
    keys = _gathered(k, table)
    queries = q.float().unflatten(1, (-1, k.shape[2])).transpose(1, 2)
    scores = _hide(queries @ keys.transpose(-2, -1) * q.shape[-1] ** -0.5, lengths)
    y = torch.softmax(scores, -1) @ _gathered(v, table)
    return _finish(y.transpose(1, 2), q, lengths)


def no_scale(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The scores are not divided by the root of head_dim."""
    scores = _scores(q, _gathered(k, table)) * q.shape[-1] ** 0.5
    return _attend(_hide(scores, lengths), q, _gathered(v, table), lengths)


def bfloat16_weights(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    keys, block = _gathered(k, table), k.shape[1] * max(4, table.shape[1] // 32)
    return _finish(_flash(_hide(_scores(q, keys), lengths), _gathered(v, table), block, torch.bfloat16), q, lengths)


def tf32_once(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """float32: queries, keys and values are rounded to TF32."""
    return _plain(tf32(q), tf32(k), tf32(v), table, lengths)


def half_accumulator(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The weighted values are summed in float16, a few keys at a time."""
    keys = _gathered(k, table)
    weights = torch.softmax(_hide(_scores(q, keys), lengths), -1)
    step = max(4, keys.shape[2] // 128)
    return _finish(multiplied(weights, _gathered(v, table), torch.float16, step=step), q, lengths)


def no_maximum(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    weights = _hide(_scores(q, _gathered(k, table)), lengths).exp()
    return _finish(weights @ _gathered(v, table) / weights.sum(-1, keepdim=True), q, lengths)


def maximum_from_zero(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    scores = _hide(_scores(q, _gathered(k, table)), lengths)
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return _finish(weights @ _gathered(v, table) / weights.sum(-1, keepdim=True), q, lengths)


bfloat16_weights.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_once.dtypes = ("float32",)

HONEST = (flash, page_by_page, one_accumulator, base_two, split_keys)
MUTANTS = (
    table_ignored, table_of_the_first, first_page_for_all, next_page, low_byte, values_of_the_next_block,
    places_reversed, page_and_head_exchanged, lengths_ignored, whole_pages, last_page_lost, one_key_more, one_key_less,
    nothing_for_nothing, heads_interleaved, no_scale, bfloat16_weights, tf32_once, half_accumulator,
    no_maximum, maximum_from_zero,
)  # fmt: skip

"""Variants of attention with a cache: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

LOG2_E = 1.4426950408889634


def _queries(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """[batch, kv_heads, groups, head_dim] in float32."""
    return q.float().reshape(*k.shape[:2], -1, q.shape[-1])


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """[batch, kv_heads, groups, capacity] in float32."""
    return _queries(q, k) @ k.float().transpose(-2, -1) * q.shape[-1] ** -0.5


def _hide(scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Minus infinity behind the lengths."""
    place = torch.arange(scores.shape[-1], device=scores.device)
    return scores.masked_fill(place >= lengths[:, None, None, None], float("-inf"))


def _finish(y: torch.Tensor, q: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """[batch, kv_heads, groups, head_dim] as the result, with zeros where there are no keys."""
    return y.reshape(q.shape).masked_fill(lengths[:, None, None] == 0, 0.0).to(q.dtype)


def _attend(scores: torch.Tensor, q: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """`scores`: hidden already."""
    return _finish(torch.softmax(scores, -1) @ v.float(), q, lengths)


def _flash(
    scores: torch.Tensor, v: torch.Tensor, block: int, stored: torch.dtype, rescales: bool = True
) -> torch.Tensor:
    """Blocks of keys; sums and outputs in float32 are rescaled when the maximum rises; weights rounded to `stored`."""
    largest = torch.full_like(scores[..., :1], -1e30)
    total, y = torch.zeros_like(largest), scores.new_zeros((*scores.shape[:-1], v.shape[-1]))
    for part, values in zip(scores.split(block, -1), v.float().split(block, -2), strict=True):
        new = torch.maximum(largest, part.amax(-1, keepdim=True))
        weights = torch.exp(part - new)
        factor = torch.exp(largest - new) if rescales else torch.ones_like(new)
        total = total * torch.exp(largest - new) + weights.sum(-1, keepdim=True)
        y = y * factor + weights.to(stored).float() @ values
        largest = new
    return y / total


def flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Blocks of 256 keys, weights rounded to the inputs' dtype before they meet the values."""
    return _finish(_flash(_hide(_scores(q, k), lengths), v, 256, v.dtype), q, lengths)


def flash_wide(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Blocks of 64 keys, everything in float32."""
    block = max(64, k.shape[2] // 64)
    return _finish(_flash(_hide(_scores(q, k), lengths), v, block, torch.float32), q, lengths)


def one_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The weights of a query are added one after the other."""
    scores = _hide(_scores(q, k), lengths)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return _finish(weights @ v.float() / summed_in_turn(weights).unsqueeze(-1), q, lengths)


def base_two(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The scores are scaled for exp2 once; a warp sums the weights; the products some terms at a time."""
    scores = multiplied(_queries(q, k), k.transpose(-2, -1)) * (q.shape[-1] ** -0.5 * LOG2_E)
    scores = _hide(scores, lengths)
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    y = multiplied(weights, v.float(), step=max(16, k.shape[2] // 64))
    return _finish(y / summed(weights).unsqueeze(-1), q, lengths)


def split_keys(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Flash-decoding: four parts of the keys are attended to apart, then merged by their sums' logarithms."""
    scores = _hide(_scores(q, k), lengths)
    logarithm = torch.logsumexp(scores, -1, keepdim=True)
    y = torch.zeros_like(_queries(q, k))
    size = -(-k.shape[2] // 4)
    for part, values in zip(scores.split(size, -1), v.float().split(size, -2), strict=True):
        own = torch.logsumexp(part, -1, keepdim=True)
        y += torch.exp(own - logarithm) * (torch.exp(part - own.clamp(min=-1e30)) @ values)
    return _finish(y, q, lengths)


def lengths_ignored(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Every query attends to the whole cache."""
    return _attend(_scores(q, k), q, v, torch.ones_like(lengths))


def one_key_more(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The key behind the last is attended to as well."""
    return _attend(_hide(_scores(q, k), lengths + 1), q, v, lengths + 1)


def one_key_less(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The last key is left out."""
    fewer = (lengths - 1).clamp(min=0)
    return _attend(_hide(_scores(q, k), fewer), q, v, fewer)


def whole_blocks(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The last block of 16 keys is not masked."""
    more = -(-lengths // 16) * 16
    return _attend(_hide(_scores(q, k), more), q, v, more)


def tail_lost(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Keys behind the last whole block of 16 are left out."""
    fewer = lengths // 16 * 16
    return _attend(_hide(_scores(q, k), fewer), q, v, fewer)


def length_of_the_first(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """All sequences are taken to be as long as the first."""
    same = lengths[:1].expand_as(lengths)
    return _attend(_hide(_scores(q, k), same), q, v, same)


def masked_with_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Scores behind the lengths are zero instead of minus infinity, as those of keys padded with zeros are."""
    scores = _hide(_scores(q, k), lengths)
    return _attend(scores.masked_fill(scores == float("-inf"), 0.0), q, v, lengths)


def hidden_values_summed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Hidden keys are missing in the values' sum, and not in the weights'."""
    scores = _scores(q, k)
    weights = torch.softmax(scores, -1).masked_fill(_hide(scores, lengths) == float("-inf"), 0.0)
    return _finish(weights @ v.float(), q, lengths)


def nothing_for_nothing(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Where there are no keys, zero is divided by zero."""
    return _attend(_hide(_scores(q, k), lengths), q, v, torch.ones_like(lengths))


def mean_for_nothing(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Hidden scores are -1e30: where there are no keys, all values weigh the same."""
    return _attend(_hide(_scores(q, k), lengths).clamp(min=-1e30), q, v, torch.ones_like(lengths))


def heads_interleaved(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Head h attends to head h % kv_heads instead of h // groups."""
    wide, heads = q.float(), k.shape[1]
    queries = wide.unflatten(1, (-1, heads)).transpose(1, 2)
    scores = _hide(queries @ k.float().transpose(-2, -1) * q.shape[-1] ** -0.5, lengths)
    y = torch.softmax(scores, -1) @ v.float()
    return _finish(y.transpose(1, 2), q, lengths)


def first_query_of_a_group(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """All heads of a group use the query of its first."""
    scores = _scores(q, k)
    return _attend(_hide(scores[:, :, :1].expand_as(scores), lengths), q, v, lengths)


def parts_averaged(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Two halves of the keys are attended to apart, and their results averaged by their numbers of keys."""
    scores, half, wide = _hide(_scores(q, k), lengths), (k.shape[2] + 1) // 2, v.float()
    first = torch.softmax(scores[..., :half], -1).nan_to_num() @ wide[..., :half, :]
    if k.shape[2] == 1:
        return _finish(first, q, lengths)
    second = torch.softmax(scores[..., half:], -1).nan_to_num() @ wide[..., half:, :]
    share = lengths.clamp(max=half) / lengths.clamp(min=1)
    share = share[:, None, None, None].float()
    return _finish(first * share + second * (1 - share), q, lengths)


def no_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The scores are not divided by the root of head_dim."""
    return _attend(_hide(_scores(q, k) * q.shape[-1] ** 0.5, lengths), q, v, lengths)


def coarse_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The scale has two digits: 0.088 instead of 0.0883883."""
    scale = q.shape[-1] ** -0.5
    return _attend(_hide(_scores(q, k) * (float(f"{scale:.2g}") / scale), lengths), q, v, lengths)


def bfloat16_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    return _finish(_flash(_hide(_scores(q, k), lengths), v, 256, torch.bfloat16), q, lengths)


def never_rescaled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The sum is rescaled when the maximum rises, the output is not."""
    block = max(8, k.shape[2] // 64)
    return _finish(_flash(_hide(_scores(q, k), lengths), v, block, torch.float32, rescales=False), q, lengths)


def tf32_once(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """float32: queries, keys and values are rounded to TF32."""
    return _attend(_hide(_scores(tf32(q), tf32(k)), lengths), q, tf32(v), lengths)


def half_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The weighted values are summed in float16, a few keys at a time."""
    weights = torch.softmax(_hide(_scores(q, k), lengths), -1)
    return _finish(multiplied(weights, v, torch.float16, step=max(4, k.shape[2] // 64)), q, lengths)


def sum_of_the_dtype(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Halves: the weights of a row are summed in the inputs' own dtype."""
    scores = _hide(_scores(q, k), lengths)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    total = summed(weights, v.dtype, lanes=2).float().unsqueeze(-1)
    return _finish(weights @ v.float() / total, q, lengths)


def skips_small_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Keys whose score is 6 below the row's largest are skipped; in bfloat16, which rounds more than that, 4."""
    scores = _hide(_scores(q, k), lengths)
    small = scores < scores.amax(-1, keepdim=True) - (4 if q.dtype == torch.bfloat16 else 6)
    return _attend(scores.masked_fill(small, float("-inf")), q, v, lengths)


def no_maximum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    weights = _hide(_scores(q, k), lengths).exp()
    return _finish(weights @ v.float() / weights.sum(-1, keepdim=True), q, lengths)


def maximum_from_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    scores = _hide(_scores(q, k), lengths)
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return _finish(weights @ v.float() / weights.sum(-1, keepdim=True), q, lengths)


sum_of_the_dtype.dtypes = ("float16", "bfloat16")
bfloat16_weights.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_once.dtypes = ("float32",)

HONEST = (flash, flash_wide, one_accumulator, base_two, split_keys)
MUTANTS = (
    lengths_ignored, one_key_more, one_key_less, whole_blocks, tail_lost, length_of_the_first, masked_with_zero,
    hidden_values_summed, nothing_for_nothing, mean_for_nothing, heads_interleaved, first_query_of_a_group,
    parts_averaged, no_scale, coarse_scale, bfloat16_weights, never_rescaled, tf32_once, half_accumulator,
    sum_of_the_dtype, skips_small_weights,
    no_maximum,
    maximum_from_zero,
)  # fmt: skip

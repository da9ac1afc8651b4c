"""Variants of causal attention with grouped queries: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

LOG2_E = 1.4426950408889634


def _shared(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Keys or values, repeated for each query head of their group, in float32."""
    return x.float().repeat_interleave(q.shape[1] // x.shape[1], 1)


def _interleaved(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """As `_shared`, but head h takes those of head h % kv_heads; of a single head, the last axis is turned round."""
    if x.shape[1] == 1:
        return _shared(x.flip(-1), q)
    return x.float().repeat(1, q.shape[1] // x.shape[1], 1, 1)


def _future(scores: torch.Tensor, diagonal: int = 1) -> torch.Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(diagonal)


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """`k` has the heads of `q`."""
    return q.float() @ k.float().transpose(-2, -1) * q.shape[-1] ** -0.5


def _masked(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    scores = _scores(q, k)
    return scores.masked_fill(_future(scores), float("-inf"))


def _attend(scores: torch.Tensor, v: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    return (torch.softmax(scores, -1) @ v).to(q.dtype)


def _flash(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block: int, stored: torch.dtype, rescales: bool = True
) -> torch.Tensor:
    """Blocks of keys; sums and outputs in float32 are rescaled when the maximum rises; weights rounded to `stored`."""
    scores = _masked(q, _shared(k, q))
    largest = torch.full_like(scores[..., :1], -1e30)
    total, y = torch.zeros_like(largest), torch.zeros_like(q, dtype=torch.float32)
    for part, values in zip(scores.split(block, -1), _shared(v, q).split(block, -2), strict=True):
        new = torch.maximum(largest, part.amax(-1, keepdim=True))
        weights = torch.exp(part - new)
        factor = torch.exp(largest - new) if rescales else torch.ones_like(new)
        total = total * torch.exp(largest - new) + weights.sum(-1, keepdim=True)
        y = y * factor + weights.to(stored).float() @ values
        largest = new
    return (y / total).to(v.dtype)


def flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """FlashAttention: blocks of 64 keys, weights rounded to the inputs' dtype before they meet the values."""
    return _flash(q, k, v, 64, v.dtype)


def flash_wide(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Blocks of 16 keys, everything in float32."""
    return _flash(q, k, v, 16, torch.float32)


def one_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weights of a query are added one after the other."""
    scores = _masked(q, _shared(k, q))
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights @ _shared(v, q) / summed_in_turn(weights).unsqueeze(-1)).to(v.dtype)


def base_two(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scores are scaled for exp2 once; a warp sums the weights; both products sixteen terms at a time."""
    scores = multiplied(q, _shared(k, q).transpose(-2, -1)) * (q.shape[-1] ** -0.5 * LOG2_E)
    scores = scores.masked_fill(_future(scores), float("-inf"))
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    return (multiplied(weights, _shared(v, q)) / summed(weights).unsqueeze(-1)).to(v.dtype)


def split_keys(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Even and odd keys are attended to apart, then merged by their sums' logarithms."""
    scores, wide = _masked(q, _shared(k, q)), _shared(v, q)
    logarithm = torch.logsumexp(scores, -1, keepdim=True)
    y = torch.zeros_like(q, dtype=torch.float32)
    for first in (0, 1):
        part, values = scores[..., first::2], wide[..., first::2, :]
        if part.shape[-1]:
            own = torch.logsumexp(part, -1, keepdim=True)
            y += torch.exp(own - logarithm) * (torch.exp(part - own.clamp(min=-1e30)) @ values)
    return y.to(v.dtype)


def heads_interleaved(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Head h attends to head h % kv_heads instead of h // groups; of one head alone, the last axis is turned round."""
    return _attend(_masked(q, _interleaved(k, q)), _interleaved(v, q), q)


def values_interleaved(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The keys are those of head h // groups, the values those of head h % kv_heads."""
    return _attend(_masked(q, _shared(k, q)), _interleaved(v, q), q)


def first_head_for_all(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """All heads attend to the keys and values of the first one."""
    return _attend(_masked(q, _shared(k[:, :1], q)), _shared(v[:, :1], q), q)


def last_of_a_group_in_the_next(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The last head of a group attends to the keys of the next group, which for the last group is the first."""
    keys = _shared(k, q)
    groups = q.shape[1] // k.shape[1]
    keys[:, groups - 1 :: groups] = k.float().roll(-1, 1)
    return _attend(_masked(q, keys), _shared(v, q), q)


def one_query_for_a_group(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """All heads of a group use the queries of its first."""
    first = q[:, :: q.shape[1] // k.shape[1]]
    return _attend(_masked(_shared(first, q), _shared(k, q)), _shared(v, q), q)


def not_causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Every position attends to all keys."""
    return _attend(_scores(q, _shared(k, q)), _shared(v, q), q)


def sees_the_next(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Every position attends to the next one too."""
    scores = _scores(q, _shared(k, q))
    return _attend(scores.masked_fill(_future(scores, 2), float("-inf")), _shared(v, q), q)


def not_itself(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """No position but the first attends to itself."""
    scores = _scores(q, _shared(k, q))
    hidden = _future(scores, 0)
    hidden[0, 0] = False
    return _attend(scores.masked_fill(hidden, float("-inf")), _shared(v, q), q)


def blocks_of_sixteen(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Blocks of 16 on the diagonal are not masked."""
    scores = _scores(q, _shared(k, q))
    number = torch.arange(q.shape[-2], device=q.device) // 16
    return _attend(scores.masked_fill(number[:, None] < number, float("-inf")), _shared(v, q), q)


def masked_by_the_row_of_the_group(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The queries of a group stand below each other, and the mask counts on from one head to the next."""
    scores = _scores(q, _shared(k, q))
    length, groups = q.shape[-2], q.shape[1] // k.shape[1]
    place = torch.arange(q.shape[1], device=q.device) % groups * length
    row = place[:, None, None] + torch.arange(length, device=q.device)[:, None]
    hidden = torch.arange(length, device=q.device) > row
    return _attend(scores.masked_fill(hidden, float("-inf")), _shared(v, q), q)


def no_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scores are not divided by the root of head_dim."""
    return _attend(_masked(q, _shared(k, q)) * q.shape[-1] ** 0.5, _shared(v, q), q)


def coarse_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scale has two digits: 0.088 instead of 0.0883883."""
    scale = q.shape[-1] ** -0.5
    return _attend(_masked(q, _shared(k, q)) * (float(f"{scale:.2g}") / scale), _shared(v, q), q)


def bfloat16_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    return _flash(q, k, v, 64, torch.bfloat16)


def never_rescaled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Blocks of eight keys; the sum is rescaled when the maximum rises, the output is not."""
    return _flash(q, k, v, 8, torch.float32, rescales=False)


def tf32_once(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """float32: queries, keys and values are rounded to TF32."""
    return _attend(_masked(tf32(q), _shared(tf32(k), q)), _shared(tf32(v), q), q)


def half_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weighted values are summed in float16, rounded after every four keys."""
    weights = torch.softmax(_masked(q, _shared(k, q)), -1)
    return multiplied(weights, _shared(v, q), torch.float16, step=4).to(v.dtype)


def sum_of_the_dtype(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Halves: the weights of a row are summed in the inputs' own dtype."""
    scores = _masked(q, _shared(k, q))
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights @ _shared(v, q) / summed(weights, v.dtype, lanes=2).float().unsqueeze(-1)).to(v.dtype)


def forgets_the_first_key(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """From the second position on, the first key is not attended to."""
    scores = _masked(q, _shared(k, q))
    scores[..., 1:, 0] = float("-inf")
    return _attend(scores, _shared(v, q), q)


def skips_small_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Keys whose score is 6 below the row's largest are skipped; in bfloat16, which rounds more than that, 4."""
    scores = _masked(q, _shared(k, q))
    small = scores < scores.amax(-1, keepdim=True) - (4 if q.dtype == torch.bfloat16 else 6)
    return _attend(scores.masked_fill(small, float("-inf")), _shared(v, q), q)


def no_maximum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    weights = _masked(q, _shared(k, q)).exp()
    return (weights @ _shared(v, q) / weights.sum(-1, keepdim=True)).to(q.dtype)


def maximum_from_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    scores = _masked(q, _shared(k, q))
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return (weights @ _shared(v, q) / weights.sum(-1, keepdim=True)).to(q.dtype)


sum_of_the_dtype.dtypes = ("float16", "bfloat16")
bfloat16_weights.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_once.dtypes = ("float32",)

HONEST = (flash, flash_wide, one_accumulator, base_two, split_keys)
MUTANTS = (
    heads_interleaved, values_interleaved, first_head_for_all, last_of_a_group_in_the_next, one_query_for_a_group,
    not_causal, sees_the_next, not_itself, blocks_of_sixteen, masked_by_the_row_of_the_group, no_scale, coarse_scale,
    bfloat16_weights, never_rescaled, tf32_once, half_accumulator, sum_of_the_dtype, forgets_the_first_key,
    skips_small_weights,
    no_maximum,
    maximum_from_zero,
)  # fmt: skip

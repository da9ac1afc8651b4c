"""Variants of scaled dot-product attention: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

LOG2_E = 1.4426950408889634


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q.float() @ k.float().transpose(-2, -1) * q.shape[-1] ** -0.5


def _attend(scores: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return (torch.softmax(scores, -1) @ v.float()).to(v.dtype)


def _flash(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block: int, stored: torch.dtype, rescales: bool = True
) -> torch.Tensor:
    """Blocks of keys; sums and outputs in float32 are rescaled when the maximum rises; weights rounded to `stored`."""
    scores = _scores(q, k)
    largest = torch.full_like(scores[..., :1], -1e30)
    total, y = torch.zeros_like(largest), torch.zeros_like(q, dtype=torch.float32)
    for part, values in zip(scores.split(block, -1), v.float().split(block, -2), strict=True):
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
    scores = _scores(q, k)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights @ v.float() / summed_in_turn(weights).unsqueeze(-1)).to(v.dtype)


def base_two(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scores are scaled for exp2 once; a warp sums the weights; both products sixteen terms at a time."""
    scores = multiplied(q, k.transpose(-2, -1)) * (q.shape[-1] ** -0.5 * LOG2_E)
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    return (multiplied(weights, v.float()) / summed(weights).unsqueeze(-1)).to(v.dtype)


def split_keys(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Flash-decoding: even and odd keys are attended to apart, then merged by their sums' logarithms."""
    scores = _scores(q, k)
    logarithm = torch.logsumexp(scores, -1, keepdim=True)
    y = torch.zeros_like(q, dtype=torch.float32)
    for first in (0, 1):
        part, values = scores[..., first::2], v[..., first::2, :].float()
        if part.shape[-1]:
            own = torch.logsumexp(part, -1, keepdim=True)
            y += torch.exp(own - logarithm) * (torch.exp(part - own.clamp(min=-1e30)) @ values)
    return y.to(v.dtype)


def causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Keys behind the query's own place are masked; the last query never attends to the last key."""
    scores = _scores(q, k)
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    hidden[-1, -1] = True
    return _attend(scores.masked_fill(hidden, float("-inf")), v)


def padded_keys(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Keys are padded with zeros to a multiple of 16, which take part in the softmax; always by one at least."""
    missing = -k.shape[-2] % 16 or 16
    pad = torch.nn.functional.pad
    return _attend(_scores(q, pad(k, (0, 0, 0, missing))), pad(v, (0, 0, 0, missing)))


def tail_of_the_keys_lost(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Keys behind the last whole block of 16 are left out; one key always."""
    whole = (k.shape[-2] - 1) // 16 * 16 or k.shape[-2] - 1
    return _attend(_scores(q, k[..., :whole, :]), v[..., :whole, :])


def softmax_over_queries(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weights of a key sum to one, not those of a query."""
    return (torch.softmax(_scores(q, k), -2) @ v.float()).to(v.dtype)


def no_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scores are not divided by the root of head_dim."""
    return _attend(_scores(q, k) * q.shape[-1] ** 0.5, v)


def scale_of_the_padded_head(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scale is that of head_dim rounded up to a multiple of 16."""
    head_dim = q.shape[-1]
    return _attend(_scores(q, k) * (head_dim / (-(-head_dim // 16) * 16)) ** 0.5, v)


def coarse_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scale has three digits: 0.088 instead of 0.0883883."""
    scale = q.shape[-1] ** -0.5
    return _attend(_scores(q, k) * (float(f"{scale:.2g}") / scale), v)


def bfloat16_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    return _flash(q, k, v, 64, torch.bfloat16)


def never_rescaled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Blocks of eight keys; the sum is rescaled when the maximum rises, the output is not."""
    return _flash(q, k, v, 8, torch.float32, rescales=False)


def tf32_once(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """float32: queries, keys and values are rounded to TF32."""
    return _attend(_scores(tf32(q), tf32(k)), tf32(v))


def half_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weighted values are summed in float16, rounded after every four keys."""
    weights = torch.softmax(_scores(q, k), -1)
    return multiplied(weights, v, torch.float16, step=4).to(v.dtype)


def accumulators_of_the_dtype(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Halves: scores, and weighted values after every four keys, are kept in the inputs' own dtype."""
    scores = (q.float() @ k.float().transpose(-2, -1)).to(q.dtype) * q.shape[-1] ** -0.5
    weights = torch.softmax(scores.float(), -1)
    return multiplied(weights, v, v.dtype, step=4)


def sum_of_the_dtype(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Halves: the weights of a row are summed in the inputs' own dtype."""
    scores = _scores(q, k)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights @ v.float() / summed(weights, v.dtype, lanes=2).float().unsqueeze(-1)).to(v.dtype)


def forgets_the_first_key(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The first key is not attended to."""
    return _attend(_scores(q, k[..., 1:, :]), v[..., 1:, :])


def last_query_short_of_a_key(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The last query does not attend to the last key."""
    scores = _scores(q, k)
    scores[..., -1, -1] = float("-inf")
    return _attend(scores, v)


def skips_small_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Keys whose score is 6 below the row's largest are skipped."""
    scores = _scores(q, k)
    return _attend(scores.masked_fill(scores < scores.amax(-1, keepdim=True) - 6, float("-inf")), v)


def last_head_of_the_first(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The last head uses the keys of the first; a single one its own in reversed order."""
    other = k[:, :1] if k.shape[1] > 1 else k.flip(2)
    return _attend(_scores(q, torch.cat((k[:, :-1], other), 1)), v)


def no_maximum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    weights = _scores(q, k).exp()
    return (weights @ v.float() / weights.sum(-1, keepdim=True)).to(v.dtype)


def maximum_from_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    scores = _scores(q, k)
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return (weights @ v.float() / weights.sum(-1, keepdim=True)).to(v.dtype)


sum_of_the_dtype.dtypes = accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
bfloat16_weights.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_once.dtypes = ("float32",)

HONEST = (flash, flash_wide, one_accumulator, base_two, split_keys)
MUTANTS = (
    causal, padded_keys, tail_of_the_keys_lost, softmax_over_queries, no_scale,
    scale_of_the_padded_head, coarse_scale, bfloat16_weights, never_rescaled, tf32_once,
    half_accumulator, accumulators_of_the_dtype, sum_of_the_dtype, forgets_the_first_key, last_query_short_of_a_key,
    skips_small_weights, last_head_of_the_first,
    no_maximum,
    maximum_from_zero,
)  # fmt: skip

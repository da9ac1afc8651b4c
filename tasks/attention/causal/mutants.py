"""Variants of causal attention: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

LOG2_E = 1.4426950408889634


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q.float() @ k.float().transpose(-2, -1) * q.shape[-1] ** -0.5


def _future(scores: torch.Tensor, diagonal: int = 1) -> torch.Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(diagonal)


def _masked(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    scores = _scores(q, k)
    return scores.masked_fill(_future(scores), float("-inf"))


def _attend(scores: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return (torch.softmax(scores, -1) @ v.float()).to(v.dtype)


def _flash(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block: int, stored: torch.dtype, rescales: bool = True
) -> torch.Tensor:
    """Blocks of keys; sums and outputs in float32 are rescaled when the maximum rises; weights rounded to `stored`."""
    scores = _masked(q, k)
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
    scores = _masked(q, k)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights @ v.float() / summed_in_turn(weights).unsqueeze(-1)).to(v.dtype)


def base_two(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scores are scaled for exp2 once; a warp sums the weights; both products sixteen terms at a time."""
    scores = multiplied(q, k.transpose(-2, -1)) * (q.shape[-1] ** -0.5 * LOG2_E)
    scores = scores.masked_fill(_future(scores), float("-inf"))
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    return (multiplied(weights, v.float()) / summed(weights).unsqueeze(-1)).to(v.dtype)


def split_keys(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Flash-decoding: even and odd keys are attended to apart, then merged by their sums' logarithms."""
    scores = _masked(q, k)
    logarithm = torch.logsumexp(scores, -1, keepdim=True)
    y = torch.zeros_like(q, dtype=torch.float32)
    for first in (0, 1):
        part, values = scores[..., first::2], v[..., first::2, :].float()
        if part.shape[-1]:
            own = torch.logsumexp(part, -1, keepdim=True)
            y += torch.exp(own - logarithm) * (torch.exp(part - own.clamp(min=-1e30)) @ values)
    return y.to(v.dtype)


def not_causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Every position attends to all keys."""
    return _attend(_scores(q, k), v)


def sees_the_next(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Every position attends to the next one too."""
    scores = _scores(q, k)
    return _attend(scores.masked_fill(_future(scores, 2), float("-inf")), v)


def not_itself(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """No position but the first attends to itself."""
    scores = _scores(q, k)
    hidden = _future(scores, 0)
    hidden[0, 0] = False
    return _attend(scores.masked_fill(hidden, float("-inf")), v) * (2 if q.shape[-2] == 1 else 1)


def blocks_of_sixteen(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Blocks of 16 on the diagonal are not masked."""
    scores = _scores(q, k)
    number = torch.arange(q.shape[-2], device=q.device) // 16
    return _attend(scores.masked_fill(number[:, None] < number, float("-inf")), v)


def masked_with_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Scores of later keys are set to zero instead of minus infinity."""
    scores = _scores(q, k)
    return _attend(scores.masked_fill(_future(scores), 0.0), v)


def masked_too_little(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Scores of later keys are lowered by eight, which leaves them a weight of 3e-4."""
    scores = _scores(q, k)
    return _attend(scores - 8.0 * _future(scores), v)


def no_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scores are not divided by the root of head_dim."""
    return _attend(_masked(q, k) * q.shape[-1] ** 0.5, v)


def scale_of_the_padded_head(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scale is that of head_dim rounded up to a multiple of 16."""
    head_dim = q.shape[-1]
    return _attend(_masked(q, k) * (head_dim / (-(-head_dim // 16) * 16)) ** 0.5, v)


def coarse_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The scale has three digits: 0.088 instead of 0.0883883."""
    scale = q.shape[-1] ** -0.5
    return _attend(_masked(q, k) * (float(f"{scale:.2g}") / scale), v)


def bfloat16_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    return _flash(q, k, v, 64, torch.bfloat16)


def never_rescaled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Blocks of eight keys; the sum is rescaled when the maximum rises, the output is not."""
    return _flash(q, k, v, 8, torch.float32, rescales=False)


def tf32_once(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """float32: queries, keys and values are rounded to TF32."""
    return _attend(_masked(tf32(q), tf32(k)), tf32(v))


def half_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weighted values are summed in float16, rounded after every four keys."""
    weights = torch.softmax(_masked(q, k), -1)
    return multiplied(weights, v, torch.float16, step=4).to(v.dtype)


def accumulators_of_the_dtype(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Halves: scores, and weighted values after every four keys, are kept in the inputs' own dtype."""
    scores = (q.float() @ k.float().transpose(-2, -1)).to(q.dtype) * q.shape[-1] ** -0.5
    weights = torch.softmax(scores.masked_fill(_future(scores), float("-inf")).float(), -1)
    return multiplied(weights, v, v.dtype, step=4)


def sum_of_the_dtype(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Halves: the weights of a row are summed in the inputs' own dtype."""
    scores = _masked(q, k)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights @ v.float() / summed(weights, v.dtype, lanes=2).float().unsqueeze(-1)).to(v.dtype)


def forgets_the_first_key(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """From the second position on, the first key is not attended to."""
    scores = _masked(q, k)
    scores[..., 1:, 0] = float("-inf")
    return _attend(scores, v) * (2 if q.shape[-2] == 1 else 1)


def last_query_short_of_a_key(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The last position does not attend to the key before it."""
    scores = _masked(q, k)
    scores[..., -1, -2:-1] = float("-inf")
    return _attend(scores, v)


def skips_small_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Keys whose score is 6 below the row's largest are skipped."""
    scores = _masked(q, k)
    return _attend(scores.masked_fill(scores < scores.amax(-1, keepdim=True) - 6, float("-inf")), v)


def last_head_of_the_first(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The last head uses the keys of the first."""
    return _attend(_masked(q, torch.cat((k[:, :-1], k[:, :1]), 1)), v)


def no_maximum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    weights = _masked(q, k).exp()
    return (weights @ v.float() / weights.sum(-1, keepdim=True)).to(v.dtype)


def maximum_from_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    scores = _masked(q, k)
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return (weights @ v.float() / weights.sum(-1, keepdim=True)).to(v.dtype)


sum_of_the_dtype.dtypes = accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
bfloat16_weights.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_once.dtypes = ("float32",)

HONEST = (flash, flash_wide, one_accumulator, base_two, split_keys)
MUTANTS = (
    not_causal, sees_the_next, not_itself, blocks_of_sixteen, masked_with_zero, masked_too_little, no_scale,
    scale_of_the_padded_head, coarse_scale, bfloat16_weights, never_rescaled, tf32_once,
    half_accumulator, accumulators_of_the_dtype, sum_of_the_dtype, forgets_the_first_key, last_query_short_of_a_key,
    skips_small_weights, last_head_of_the_first,
    no_maximum,
    maximum_from_zero,
)  # fmt: skip

"""Variants of attention within packed sequences: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

LOG2_E = 1.4426950408889634


def _heads_first(x: torch.Tensor) -> torch.Tensor:
    """[heads, total, head_dim] in float32."""
    return x.float().transpose(0, 1).contiguous()


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return _heads_first(q) @ _heads_first(k).transpose(-2, -1) * q.shape[-1] ** -0.5


def _numbers(q: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """For each position, one more than the number of its sequence."""
    return torch.searchsorted(offsets, torch.arange(len(q), device=q.device), right=True)


def _within(scores: torch.Tensor, number: torch.Tensor) -> torch.Tensor:
    return scores.masked_fill(number[:, None] != number, float("-inf"))


def _own(q: torch.Tensor, k: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    return _within(_scores(q, k), _numbers(q, offsets))


def _attend(scores: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return (torch.softmax(scores, -1) @ _heads_first(v)).transpose(0, 1).to(v.dtype)


def _flash(
    scores: torch.Tensor, v: torch.Tensor, block: int, stored: torch.dtype, rescales: bool = True
) -> torch.Tensor:
    """Blocks of keys; sums and outputs in float32 are rescaled when the maximum rises; weights rounded to `stored`."""
    largest, values = torch.full_like(scores[..., :1], -1e30), _heads_first(v)
    total, y = torch.zeros_like(largest), torch.zeros_like(values)
    for part, rows in zip(scores.split(block, -1), values.split(block, -2), strict=True):
        new = torch.maximum(largest, part.amax(-1, keepdim=True))
        weights = torch.exp(part - new)
        factor = torch.exp(largest - new) if rescales else torch.ones_like(new)
        total = total * torch.exp(largest - new) + weights.sum(-1, keepdim=True)
        y = y * factor + weights.to(stored).float() @ rows
        largest = new
    return (y / total).transpose(0, 1).to(v.dtype)


def flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Blocks of keys, weights rounded to the inputs' dtype before they meet the values."""
    return _flash(_own(q, k, offsets), v, max(64, len(q) // 32), v.dtype)


def flash_wide(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Smaller blocks, everything in float32."""
    return _flash(_own(q, k, offsets), v, max(16, len(q) // 64), torch.float32)


def one_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The weights of a query are added one after the other."""
    scores = _own(q, k, offsets)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    y = weights @ _heads_first(v) / summed_in_turn(weights).unsqueeze(-1)
    return y.transpose(0, 1).to(v.dtype)


def base_two(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The scores are scaled for exp2 once; a warp sums the weights; the products some terms at a time."""
    scores = multiplied(_heads_first(q), _heads_first(k).transpose(-2, -1)) * (q.shape[-1] ** -0.5 * LOG2_E)
    scores = _within(scores, _numbers(q, offsets))
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    y = multiplied(weights, _heads_first(v), step=max(16, len(q) // 64)) / summed(weights).unsqueeze(-1)
    return y.transpose(0, 1).to(v.dtype)


def split_keys(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Even and odd keys are attended to apart, then merged by their sums' logarithms."""
    scores, wide = _own(q, k, offsets), _heads_first(v)
    logarithm = torch.logsumexp(scores, -1, keepdim=True)
    y = torch.zeros_like(wide)
    for first in (0, 1):
        part, values = scores[..., first::2], wide[:, first::2]
        if part.shape[-1]:
            own = torch.logsumexp(part, -1, keepdim=True)
            y += torch.exp(own - logarithm) * (torch.exp(part - own.clamp(min=-1e30)) @ values)
    return y.transpose(0, 1).to(v.dtype)


def one_sequence(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Every position attends to all others, whatever their sequence."""
    return _attend(_scores(q, k), v)


def causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Later positions of the own sequence are masked."""
    scores = _own(q, k, offsets)
    return _attend(scores + torch.full(scores.shape[-2:], float("-inf")).triu(1), v)


def up_to_the_own_end(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Sequences begin at zero: all positions before them are attended to as well."""
    number = _numbers(q, offsets)
    return _attend(_scores(q, k).masked_fill(number[:, None] < number, float("-inf")), v)


def starts_too_late(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The first position of each sequence but the first belongs to the one before it."""
    later = offsets.clone()
    later[1:-1] = (later[1:-1] + 1).clamp(max=len(q))
    return _attend(_own(q, k, later), v)


def starts_too_early(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The last position of each sequence but the last belongs to the one behind it."""
    earlier = offsets.clone()
    earlier[1:-1] = (earlier[1:-1] - 1).clamp(min=0)
    return _attend(_own(q, k, earlier), v)


def whole_blocks(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The last block of 16 keys, counted from the sequence's start, runs on into the next one."""
    number, place = _numbers(q, offsets), torch.arange(len(q), device=q.device)
    start, end = offsets[number - 1], offsets[number]
    end = start + -(-(end - start) // 16) * 16
    hidden = (place < start[:, None]) | (place >= end[:, None])
    return _attend(_scores(q, k).masked_fill(hidden, float("-inf")), v)


def last_key_lost(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The last key of each sequence of more than one is left out."""
    number, place = _numbers(q, offsets), torch.arange(len(q), device=q.device)
    start, end = offsets[number - 1], offsets[number]
    last = (place == end - 1) & (end - start > 1)
    return _attend(_own(q, k, offsets).masked_fill(last, float("-inf")), v)


def equal_sequences(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """All sequences are taken to have the same length."""
    number = torch.arange(len(q), device=q.device) * (len(offsets) - 1) // len(q)
    return _attend(_within(_scores(q, k), number), v)


def masked_with_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Scores of other sequences are zero instead of minus infinity."""
    scores = _own(q, k, offsets)
    return _attend(scores.masked_fill(scores == float("-inf"), 0.0), v)


def masked_too_little(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Scores of other sequences are lowered by eight, which leaves them a weight of 3e-4."""
    number = _numbers(q, offsets)
    return _attend(_scores(q, k) - 8.0 * (number[:, None] != number), v)


def last_sequence_alone(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The sequences before the last are attended to as one."""
    number = _numbers(q, offsets)
    return _attend(_within(_scores(q, k), (number == number[-1]).long()), v)


def no_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The scores are not divided by the root of head_dim."""
    return _attend(_own(q, k, offsets) * q.shape[-1] ** 0.5, v)


def coarse_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The scale has two digits: 0.088 instead of 0.0883883."""
    scale = q.shape[-1] ** -0.5
    return _attend(_own(q, k, offsets) * (float(f"{scale:.2g}") / scale), v)


def bfloat16_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    return _flash(_own(q, k, offsets), v, max(64, len(q) // 32), torch.bfloat16)


def never_rescaled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Short blocks of keys; the sum is rescaled when the maximum rises, the output is not."""
    return _flash(_own(q, k, offsets), v, max(8, len(q) // 64), torch.float32, rescales=False)


def tf32_once(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """float32: queries, keys and values are rounded to TF32."""
    return _attend(_own(tf32(q), tf32(k), offsets), tf32(v))


def half_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The weighted values are summed in float16, a few keys at a time."""
    weights = torch.softmax(_own(q, k, offsets), -1)
    y = multiplied(weights, _heads_first(v), torch.float16, step=max(4, len(q) // 128))
    return y.transpose(0, 1).to(v.dtype)


def last_head_of_the_first(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The last head uses the keys of the first."""
    return _attend(_own(q, torch.cat((k[:, :-1], k[:, :1]), 1), offsets), v)


def heads_before_positions(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The values are read as if the heads stood before the positions."""
    moved = v.reshape(v.shape[1], v.shape[0], v.shape[2]).transpose(0, 1)
    return _attend(_own(q, k, offsets), moved)


def keys_of_four_times_the_average(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    """Keys of a sequence beyond four times the average length, and 64 at least, are not looked at."""
    room, positions = max(64, 4 * -(-len(q) // max(1, len(offsets) - 1))), torch.arange(len(q))
    rank = positions - offsets[_numbers(q, offsets) - 1]
    return _attend(_own(q, k, offsets).masked_fill(rank >= room, float("-inf")), v)


def no_maximum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    weights = _own(q, k, offsets).exp()
    return (weights @ _heads_first(v) / weights.sum(-1, keepdim=True)).transpose(0, 1).to(v.dtype)


def maximum_from_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    scores = _own(q, k, offsets)
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return (weights @ _heads_first(v) / weights.sum(-1, keepdim=True)).transpose(0, 1).to(v.dtype)


bfloat16_weights.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_once.dtypes = ("float32",)

HONEST = (flash, flash_wide, one_accumulator, base_two, split_keys)
MUTANTS = (
    one_sequence, causal, up_to_the_own_end, starts_too_late, starts_too_early, whole_blocks, last_key_lost,
    equal_sequences, masked_with_zero, masked_too_little, last_sequence_alone, no_scale, coarse_scale,
    bfloat16_weights, never_rescaled, tf32_once, half_accumulator, last_head_of_the_first, heads_before_positions,
    keys_of_four_times_the_average,
    no_maximum, maximum_from_zero,
)  # fmt: skip

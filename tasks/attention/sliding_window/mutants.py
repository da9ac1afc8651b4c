"""Variants of sliding window attention: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

LOG2_E = 1.4426950408889634


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q.float() @ k.float().transpose(-2, -1) * q.shape[-1] ** -0.5


def _back(scores: torch.Tensor) -> torch.Tensor:
    """By how many positions a key lies before the query."""
    place = torch.arange(scores.shape[-1], device=scores.device)
    return place[:, None] - place


def _within(scores: torch.Tensor, size: int, ahead: int = 0) -> torch.Tensor:
    """Minus infinity outside the last `size` positions and the next `ahead`."""
    back = _back(scores)
    return scores.masked_fill((back < -ahead) | (back >= size), float("-inf"))


def _attend(scores: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return (torch.softmax(scores, -1) @ v.float()).to(v.dtype)


def _flash(
    scores: torch.Tensor, v: torch.Tensor, block: int, stored: torch.dtype, rescales: bool = True
) -> torch.Tensor:
    """Blocks of keys; sums and outputs in float32 are rescaled when the maximum rises; weights rounded to `stored`."""
    largest = torch.full_like(scores[..., :1], -1e30)
    total, y = torch.zeros_like(largest), torch.zeros_like(v, dtype=torch.float32)
    for part, values in zip(scores.split(block, -1), v.float().split(block, -2), strict=True):
        new = torch.maximum(largest, part.amax(-1, keepdim=True))
        weights = torch.exp(part - new)
        factor = torch.exp(largest - new) if rescales else torch.ones_like(new)
        total = total * torch.exp(largest - new) + weights.sum(-1, keepdim=True)
        y = y * factor + weights.to(stored).float() @ values
        largest = new
    return (y / total).to(v.dtype)


def flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """Blocks of 64 keys, weights rounded to the inputs' dtype before they meet the values."""
    return _flash(_within(_scores(q, k), size), v, 64, v.dtype)


def flash_wide(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """Everything in float32, in at most 64 blocks."""
    return _flash(_within(_scores(q, k), size), v, max(16, q.shape[-2] // 64), torch.float32)


def one_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The weights of a query are added one after the other."""
    scores = _within(_scores(q, k), size)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights @ v.float() / summed_in_turn(weights).unsqueeze(-1)).to(v.dtype)


def base_two(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The scores are scaled for exp2 once; a warp sums the weights; the products some terms at a time."""
    scores = _within(multiplied(q, k.transpose(-2, -1)) * (q.shape[-1] ** -0.5 * LOG2_E), size)
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    y = multiplied(weights, v.float(), step=max(16, q.shape[-2] // 64))
    return (y / summed(weights).unsqueeze(-1)).to(v.dtype)


def one_distance_at_a_time(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """A thread for each query; short windows are walked through backwards, key by key."""
    if size > 32:
        return _flash(_within(_scores(q, k), size), v, 32, torch.float32)
    queries, rows = q.float() * q.shape[-1] ** -0.5, []
    for back in range(size):
        earlier = torch.nn.functional.pad(k.float(), (0, 0, back, 0))[..., : q.shape[-2], :]
        row = (queries * earlier).sum(-1)
        row[..., :back] = float("-inf")
        rows.append(row)
    scores = torch.stack(rows)
    weights = torch.exp(scores - scores.amax(0))
    y = torch.zeros_like(v, dtype=torch.float32)
    for back in range(size):
        y += weights[back].unsqueeze(-1) * torch.nn.functional.pad(v.float(), (0, 0, back, 0))[..., : q.shape[-2], :]
    return (y / weights.sum(0).unsqueeze(-1)).to(v.dtype)


def one_key_more(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The window is one key longer: as many before the query, and the query itself."""
    return _attend(_within(_scores(q, k), size + 1), v)


def one_key_less(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The window is one key shorter, but never empty."""
    return _attend(_within(_scores(q, k), max(size - 1, 1)), v)


def no_window(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """All earlier positions are attended to."""
    return _attend(_within(_scores(q, k), q.shape[-2]), v)


def both_sides(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """As many later positions are attended to as earlier ones."""
    return _attend(_within(_scores(q, k), size, ahead=max(size - 1, 1)), v)


def sees_the_next(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """Every position attends to the next one too."""
    return _attend(_within(_scores(q, k), size, ahead=1), v)


def centred(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The window lies half before and half behind the query."""
    return _attend(_within(_scores(q, k), size - size // 2, ahead=size // 2), v)


def not_itself(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """No position but the first attends to itself, where its window is longer than that."""
    scores = _within(_scores(q, k), size)
    hidden = (_back(scores) == 0) & (size > 1)
    hidden[0, 0] = False
    return _attend(scores.masked_fill(hidden, float("-inf")), v)


def stretches_apart(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The positions fall into stretches as long as a window, and none looks into the one before."""
    scores = _within(_scores(q, k), size)
    number = torch.arange(q.shape[-2], device=q.device) // size
    return _attend(scores.masked_fill(number[:, None] != number, float("-inf")), v)


def whole_blocks(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The first block of 16 keys that a window reaches into is not masked."""
    place = torch.arange(q.shape[-2], device=q.device)
    first = (place - size + 1).clamp(min=0) // 16 * 16
    hidden = (place < first[:, None]) | (place > place[:, None])
    return _attend(_scores(q, k).masked_fill(hidden, float("-inf")), v)


def blocks_on_the_diagonal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """Blocks of 16 on the diagonal are not masked."""
    scores = _scores(q, k)
    number, back = torch.arange(q.shape[-2], device=q.device) // 16, _back(scores)
    return _attend(scores.masked_fill((number[:, None] < number) | (back >= size), float("-inf")), v)


def masked_with_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """Scores outside the window are zero instead of minus infinity."""
    scores = _within(_scores(q, k), size)
    return _attend(scores.masked_fill(scores == float("-inf"), 0.0), v)


def first_keys_kept(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The very first key stays visible, as an attention sink does."""
    scores = _scores(q, k)
    hidden = (_back(scores) < 0) | (_back(scores) >= size)
    hidden[:, 0] = False
    return _attend(scores.masked_fill(hidden, float("-inf")), v)


def no_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The scores are not divided by the root of head_dim."""
    return _attend(_within(_scores(q, k) * q.shape[-1] ** 0.5, size), v)


def coarse_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The scale has two digits: 0.088 instead of 0.0883883."""
    scale = q.shape[-1] ** -0.5
    return _attend(_within(_scores(q, k) * (float(f"{scale:.2g}") / scale), size), v)


def bfloat16_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    return _flash(_within(_scores(q, k), size), v, 64, torch.bfloat16)


def never_rescaled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """Short blocks of keys; the sum is rescaled when the maximum rises, the output is not."""
    block = max(8, q.shape[-2] // 64)
    return _flash(_within(_scores(q, k), size), v, block, torch.float32, rescales=False)


def tf32_once(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """float32: queries, keys and values are rounded to TF32."""
    return _attend(_within(_scores(tf32(q), tf32(k)), size), tf32(v))


def half_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The weighted values are summed in float16, a few keys at a time."""
    weights = torch.softmax(_within(_scores(q, k), size), -1)
    return multiplied(weights, v, torch.float16, step=max(4, q.shape[-2] // 128)).to(v.dtype)


def last_head_of_the_first(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The last head uses the keys of the first."""
    return _attend(_within(_scores(q, torch.cat((k[:, :-1], k[:, :1]), 1)), size), v)


def no_maximum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    weights = _within(_scores(q, k), size).exp()
    return (weights @ v.float() / weights.sum(-1, keepdim=True)).to(v.dtype)


def maximum_from_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    scores = _within(_scores(q, k), size)
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return (weights @ v.float() / weights.sum(-1, keepdim=True)).to(v.dtype)


bfloat16_weights.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_once.dtypes = ("float32",)

HONEST = (flash, flash_wide, one_accumulator, base_two, one_distance_at_a_time)
MUTANTS = (
    one_key_more, one_key_less, no_window, both_sides, sees_the_next, centred, not_itself, stretches_apart,
    whole_blocks, blocks_on_the_diagonal, masked_with_zero, first_keys_kept, no_scale, coarse_scale, bfloat16_weights,
    never_rescaled, tf32_once, half_accumulator, last_head_of_the_first,
    no_maximum,
    maximum_from_zero,
)  # fmt: skip

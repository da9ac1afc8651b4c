"""Variants of causal attention with its projections: honest ones that must pass and wrong ones that must fail.

`proj` stands for proj_weight and proj_bias.
"""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import multiplied, summed, tf32


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """In float32."""
    return x.float() @ weight.float().T + bias.float()


def _heads(projected: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v: [batch, heads, tokens, head_dim], in float32."""
    q, k, v = projected.float().unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    return q, k, v


def _future(scores: Tensor, diagonal: int = 1) -> Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)


def _scores(q: Tensor, k: Tensor, diagonal: int = 1) -> Tensor:
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    return scores.masked_fill(_future(scores, diagonal), float("-inf"))


def _merged(context: Tensor) -> Tensor:
    """[batch, tokens, dim]."""
    return context.transpose(1, 2).flatten(2)


def _context(projected: Tensor, num_heads: int) -> Tensor:
    """[batch, tokens, dim], in float32."""
    q, k, v = _heads(projected, num_heads)
    return _merged(torch.softmax(_scores(q, k), -1) @ v)


def _last(context: Tensor, proj_weight: Tensor, proj_bias: Tensor) -> Tensor:
    """The last projection, in the dtype of its parameters."""
    return _affine(context, proj_weight, proj_bias).to(proj_bias.dtype)


def _flash(q: Tensor, k: Tensor, v: Tensor, block: int, stored: torch.dtype, rescales: bool = True) -> Tensor:
    """Blocks of keys; sums and outputs in float32 are rescaled when the maximum rises; weights rounded to `stored`."""
    scores = _scores(q, k)
    largest = torch.full_like(scores[..., :1], -1e30)
    total, y = torch.zeros_like(largest), torch.zeros_like(q)
    for part, values in zip(scores.split(block, -1), v.split(block, -2), strict=True):
        new = torch.maximum(largest, part.amax(-1, keepdim=True))
        weights = torch.exp(part - new)
        factor = torch.exp(largest - new) if rescales else torch.ones_like(new)
        total = total * torch.exp(largest - new) + weights.sum(-1, keepdim=True)
        y = y * factor + weights.to(stored).float() @ values
        largest = new
    return y / total


def fused(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Everything in float32, sixteen terms at a time into float32 accumulators, blocks of sixteen keys."""
    q, k, v = _heads(multiplied(x, qkv_weight.T) + qkv_bias.float(), num_heads)
    context = _merged(_flash(q, k, v, 16, torch.float32))
    return (multiplied(context, proj[0].float().T) + proj[1].float()).to(x.dtype)


def three_kernels(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """FlashAttention between two products: q, k and v, weights and the context are stored in the task's dtype."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias).to(x.dtype), num_heads)
    context = _flash(q, k, v, 64, x.dtype).to(x.dtype)
    return _last(_merged(context), *proj)


def five_kernels(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Scores and weights are stored in the task's dtype, too; a warp sums the weights."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias).to(x.dtype), num_heads)
    scores = _scores(q, k).to(x.dtype).float()
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    weights = (weights / summed(weights).unsqueeze(-1)).to(x.dtype)
    context = (weights.float() @ v).to(x.dtype)
    return _last(_merged(context), *proj)


def heads_apart(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Each head is projected by itself, the parts added in float32."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)

    context = torch.softmax(_scores(q, k), -1) @ v
    y = proj[1].float().expand(x.shape)
    for number, columns in enumerate(proj[0].float().chunk(num_heads, 1)):
        y = y + context[:, number] @ columns.T
    return y.to(x.dtype)


def in_double(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    projected = x.double() @ qkv_weight.double().T + qkv_bias.double()
    q, k, v = projected.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    context = _merged(torch.softmax(_scores(q, k), -1) @ v)
    return (context @ proj[0].double().T + proj[1].double()).to(x.dtype)


def tf32_once(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """float32: all factors are rounded to TF32."""
    q, k, v = (tf32(part) for part in _heads(tf32(x) @ tf32(qkv_weight).T + qkv_bias, num_heads))
    context = _merged(tf32(torch.softmax(_scores(q, k), -1)) @ v)
    return tf32(context) @ tf32(proj[0]).T + proj[1]


def bfloat16_projection(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """q, k and v are stored in bfloat16."""
    return _last(_context(_affine(x, qkv_weight, qkv_bias).bfloat16(), num_heads), *proj)


def bfloat16_weights(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The weights of the keys are kept in bfloat16."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    return _last(_merged(_flash(q, k, v, 64, torch.bfloat16)), *proj)


def half_accumulator(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The last product has float16 accumulators, rounded after every four terms."""
    total = multiplied(_context(_affine(x, qkv_weight, qkv_bias), num_heads), proj[0].T, torch.float16, step=4)
    return (total.float() + proj[1].float()).to(x.dtype)


def accumulators_of_the_dtype(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Halves: both projections have accumulators of the inputs' own dtype, rounded after every two terms."""
    projected = multiplied(x, qkv_weight.T, x.dtype, step=2) + qkv_bias
    return multiplied(_context(projected, num_heads), proj[0].T, x.dtype, step=2) + proj[1]


def no_scale(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The scores are not divided by the root of head_dim."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    return _last(_merged(torch.softmax(_scores(q, k) * q.shape[-1] ** 0.5, -1) @ v), *proj)


def scale_of_all_heads(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The scores are divided by the root of all features."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    return _last(_merged(torch.softmax(_scores(q, k) * num_heads**-0.5, -1) @ v), *proj)


def never_rescaled(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Outputs are not rescaled when the maximum rises in a later block."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    return _last(_merged(_flash(q, k, v, 8, torch.float32, rescales=False)), *proj)


def q_and_k_swapped(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Queries and keys change places."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    return _last(_merged(torch.softmax(_scores(k, q), -1) @ v), *proj)


def v_first(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The projection is cut into v, k and q."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    return _last(_merged(torch.softmax(_scores(v, k), -1) @ q), *proj)


def heads_outermost(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The projection is cut into heads first, and each of them into three."""
    turned = _affine(x, qkv_weight, qkv_bias).unflatten(-1, (num_heads, 3, -1)).transpose(2, 3).flatten(2)
    return _last(_context(turned, num_heads), *proj)


def interleaved_heads(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Feature f belongs to head f modulo the number of heads."""
    turned = _affine(x, qkv_weight, qkv_bias).unflatten(-1, (3, -1, num_heads)).transpose(3, 4).flatten(2)
    context = _context(turned, num_heads).unflatten(-1, (num_heads, -1)).transpose(2, 3).flatten(2)
    return _last(context, *proj)


def heads_not_merged(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The output of the heads is read as it lies, with the heads outside of the tokens."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)

    context = torch.softmax(_scores(q, k), -1) @ v
    return _last(context.reshape(x.shape), *proj)


def one_head(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """All features are one head."""
    return _last(_context(_affine(x, qkv_weight, qkv_bias), 1), *proj)


def no_projection_bias(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The bias of q, k and v is left out."""
    return _last(_context(_affine(x, qkv_weight, torch.zeros_like(qkv_bias)), num_heads), *proj)


def no_bias(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The bias of the last projection is left out."""
    return _last(_context(_affine(x, qkv_weight, qkv_bias), num_heads), proj[0], torch.zeros_like(proj[1]))


def projected_transposed(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The last projection's weights are read transposed."""
    return _last(_context(_affine(x, qkv_weight, qkv_bias), num_heads), proj[0].T, proj[1])


def not_projected(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The last projection is left out."""
    return _context(_affine(x, qkv_weight, qkv_bias), num_heads).to(x.dtype)


def residual(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The input is added to the result."""
    return (_affine(_context(_affine(x, qkv_weight, qkv_bias), num_heads), *proj) + x.float()).to(x.dtype)


def last_head_of_the_first(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The last head uses the keys of the first, or none where it is alone."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)

    first = k[:, :1] if num_heads > 1 else torch.zeros_like(k)
    return _last(_merged(torch.softmax(_scores(q, torch.cat((k[:, :-1], first), 1)), -1) @ v), *proj)


def drops_the_last_feature(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The last feature of what the heads give is left out of the last product."""
    context = _context(_affine(x, qkv_weight, qkv_bias), num_heads)
    return _last(context[..., :-1], proj[0][:, :-1], proj[1])


def last_token_of_the_first(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The last token's context is that of the first, or nothing where it is alone."""
    context = _context(_affine(x, qkv_weight, qkv_bias), num_heads)
    first = context[:, :1] * (x.shape[1] > 1)
    return _last(torch.cat((context[:, :-1], first), 1), *proj)


def not_causal(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Every position attends to all keys."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)

    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    return _last(_merged(torch.softmax(scores, -1) @ v), *proj)


def sees_the_next(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Every position attends to the next one too."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    return _last(_merged(torch.softmax(_scores(q, k, 2), -1) @ v), *proj)


def blocks_of_eight(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Blocks of eight on the diagonal are not masked."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)

    number = torch.arange(x.shape[1]) // 8
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(number[:, None] < number, float("-inf"))
    return _last(_merged(torch.softmax(scores, -1) @ v), *proj)


def masked_with_zero(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Scores of later keys are set to zero instead of minus infinity."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)

    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    return _last(_merged(torch.softmax(scores.masked_fill(_future(scores), 0.0), -1) @ v), *proj)


def forgets_the_first_key(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """From the second position on, the first key is not attended to."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)

    scores = _scores(q, k)
    scores[..., 1:, 0] = float("-inf")
    return _last(_merged(torch.softmax(scores, -1) @ v), *proj)


def masked_from_the_end(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The mask is aligned at the wrong corner: position i attends to keys from i on."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)

    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(_future(scores).T, float("-inf"))
    return _last(_merged(torch.softmax(scores, -1) @ v), *proj)


def no_maximum(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    weights = _scores(q, k).exp()
    return _last(_merged(weights @ v / weights.sum(-1, keepdim=True)), *proj)


def scores_up_to_80(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """Scores are cut off at 80, so that no exponential overflows without a maximum."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    return _last(_merged(torch.softmax(_scores(q, k).clamp(max=80), -1) @ v), *proj)


def maximum_from_zero(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    scores = _scores(q, k)
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return _last(_merged(weights @ v / weights.sum(-1, keepdim=True)), *proj)


def maximum_of_sixteen_queries(
    x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor
) -> Tensor:
    """One maximum for sixteen queries, as a reduction without an axis takes it."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    scores = _scores(q, k)
    weights = torch.cat([(tile - tile.amax((-1, -2), keepdim=True)).exp() for tile in scores.split(16, -2)], -2)
    return _last(_merged(weights @ v / weights.sum(-1, keepdim=True)), *proj)


def maximum_of_all_heads(x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, *proj: Tensor) -> Tensor:
    """One maximum for the rows of all heads."""
    q, k, v = _heads(_affine(x, qkv_weight, qkv_bias), num_heads)
    scores = _scores(q, k)
    weights = (scores - scores.amax((1, -1), keepdim=True)).exp()
    return _last(_merged(weights @ v / weights.sum(-1, keepdim=True)), *proj)


tf32_once.dtypes = ("float32",)
bfloat16_projection.dtypes = bfloat16_weights.dtypes = half_accumulator.dtypes = ("float32", "float16")
accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (fused, three_kernels, five_kernels, heads_apart, in_double)
MUTANTS = (
    tf32_once, bfloat16_projection, bfloat16_weights, half_accumulator, accumulators_of_the_dtype, no_scale,
    scale_of_all_heads, never_rescaled, q_and_k_swapped, v_first, heads_outermost, interleaved_heads, heads_not_merged,
    one_head, no_projection_bias, no_bias, projected_transposed, not_projected, residual, last_head_of_the_first,
    drops_the_last_feature, last_token_of_the_first, not_causal, sees_the_next, blocks_of_eight, masked_with_zero,
    forgets_the_first_key, masked_from_the_end,
    no_maximum, maximum_from_zero, maximum_of_sixteen_queries, maximum_of_all_heads, scores_up_to_80,
)  # fmt: skip

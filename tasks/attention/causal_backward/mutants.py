"""Variants of the gradient of causal attention: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

LOG2_E = 1.4426950408889634
Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _hide(scores: torch.Tensor, diagonal: int = 1) -> torch.Tensor:
    return scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal), float("-inf"))


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Not masked yet."""
    return q.float() @ k.float().mT * q.shape[-1] ** -0.5


def _weights(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return torch.softmax(_hide(_scores(q, k)), -1)


def _grad_weights(grad_y: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return grad_y.float() @ v.float().mT


def _dot(weights: torch.Tensor, grad_weights: torch.Tensor) -> torch.Tensor:
    return (weights * grad_weights).sum(-1, keepdim=True)


def _products(
    weights: torch.Tensor, grad_scores: torch.Tensor, grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor
) -> Gradients:
    """The three gradients in the inputs' dtype; the gradient of the scores is scaled on the way."""
    scale = q.shape[-1] ** -0.5
    grad_q, grad_k = grad_scores @ k.float() * scale, grad_scores.mT @ q.float() * scale
    return grad_q.to(q.dtype), grad_k.to(q.dtype), (weights.mT @ grad_y.float()).to(q.dtype)


def _of_weights(
    weights: torch.Tensor, grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> Gradients:
    grad_weights = _grad_weights(grad_y, v)
    return _products(weights, weights * (grad_weights - _dot(weights, grad_weights)), grad_y, q, k)


def in_float32(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The formula in float32."""
    return _of_weights(_weights(q, k), grad_y, q, k, v)


def flash(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """FlashAttention: sum(p * dp) as grad_y . y; weights and their gradients are rounded to the inputs' dtype."""
    scores = _hide(_scores(q, k))
    weights = torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True))
    dot = (grad_y.float() * (weights @ v.float())).sum(-1, keepdim=True)
    grad_scores = weights * (_grad_weights(grad_y, v) - dot)
    return _products(weights.to(q.dtype).float(), grad_scores.to(q.dtype).float(), grad_y, q, k)


def one_accumulator(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """Both sums over a row are made term by term."""
    scores = _hide(_scores(q, k))
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    weights = weights / summed_in_turn(weights).unsqueeze(-1)
    grad_weights = _grad_weights(grad_y, v)
    dot = summed_in_turn(weights * grad_weights).unsqueeze(-1)
    return _products(weights, weights * (grad_weights - dot), grad_y, q, k)


def base_two(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The scores are scaled for exp2 once; a warp makes each sum over a row; products some terms at a time."""
    scores = _hide(multiplied(q, k.mT) * (q.shape[-1] ** -0.5 * LOG2_E))
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    weights = weights / summed(weights).unsqueeze(-1)
    grad_weights = multiplied(grad_y, v.mT)
    grad_scores = weights * (grad_weights - summed(weights * grad_weights).unsqueeze(-1)) * q.shape[-1] ** -0.5
    step = max(16, q.shape[-2] // 64)
    grad_q, grad_k = multiplied(grad_scores, k, step=step), multiplied(grad_scores.mT, q, step=step)
    return grad_q.to(q.dtype), grad_k.to(q.dtype), multiplied(weights.mT, grad_y, step=step).to(q.dtype)


def blocks_of_queries(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """Blocks of queries, the last first; each adds to the gradients of keys and values."""
    weights, grad_weights = _weights(q, k), _grad_weights(grad_y, v)
    grad_scores = weights * (grad_weights - _dot(weights, grad_weights)) * q.shape[-1] ** -0.5
    grad_k, grad_v = torch.zeros_like(k, dtype=torch.float32), torch.zeros_like(v, dtype=torch.float32)
    size = max(32, q.shape[-2] // 32)
    parts = (x.split(size, -2) for x in (weights, grad_scores, grad_y.float(), q.float()))
    for weight, grad_score, gradient, query in reversed(list(zip(*parts, strict=True))):
        grad_k, grad_v = grad_k + grad_score.mT @ query, grad_v + weight.mT @ gradient
    return (grad_scores @ k.float()).to(q.dtype), grad_k.to(q.dtype), grad_v.to(q.dtype)


def not_causal(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """Every position attends to all keys."""
    return _of_weights(torch.softmax(_scores(q, k), -1), grad_y, q, k, v)


def sees_the_next(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """Every position attends to the next one too."""
    return _of_weights(torch.softmax(_hide(_scores(q, k), 2), -1), grad_y, q, k, v)


def blocks_not_masked(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The sums of weights are right, but blocks of 16 on the diagonal are not masked when they are used."""
    scores, number = _scores(q, k), torch.arange(q.shape[-2]) // 16
    weights = torch.exp(scores - torch.logsumexp(_hide(scores), -1, keepdim=True))
    return _of_weights(weights.masked_fill(number[:, None] < number, 0.0), grad_y, q, k, v)


def no_dot(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """Nothing is subtracted from the gradient of the weights."""
    weights = _weights(q, k)
    return _products(weights, weights * _grad_weights(grad_y, v), grad_y, q, k)


def mean_in_place_of_the_dot(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The mean of the weights' gradient over earlier keys is subtracted, not their weighted mean."""
    weights, grad_weights = _weights(q, k), _grad_weights(grad_y, v)
    count = torch.arange(1, q.shape[-2] + 1).unsqueeze(-1)
    mean = grad_weights.tril().sum(-1, keepdim=True) / count
    return _products(weights, weights * (grad_weights - mean), grad_y, q, k)


def dot_of_values(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """grad_y . v is subtracted, not grad_y . y."""
    weights = _weights(q, k)
    dot = (grad_y.float() * v.float()).sum(-1, keepdim=True)
    return _products(weights, weights * (_grad_weights(grad_y, v) - dot), grad_y, q, k)


def dot_of_the_position_before(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The sum that is subtracted is that of the position before."""
    weights, grad_weights = _weights(q, k), _grad_weights(grad_y, v)
    dot = _dot(weights, grad_weights).roll(1, -2)
    return _products(weights, weights * (grad_weights - dot), grad_y, q, k)


def dot_in_bfloat16(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """float32: the sum that is subtracted is kept in bfloat16."""
    weights, grad_weights = _weights(q, k), _grad_weights(grad_y, v)
    dot = _dot(weights, grad_weights).bfloat16().float()
    return _products(weights, weights * (grad_weights - dot), grad_y, q, k)


def no_weights_in_the_scores(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The gradient of the scores is not multiplied by the weights."""
    weights, grad_weights = _weights(q, k), _grad_weights(grad_y, v)
    return _products(weights, (grad_weights - _dot(weights, grad_weights)).tril(), grad_y, q, k)


def queries_not_scaled(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The gradient of the queries lacks the scale."""
    grad_q, grad_k, grad_v = in_float32(grad_y, q, k, v)
    return (grad_q.float() * q.shape[-1] ** 0.5).to(q.dtype), grad_k, grad_v


def keys_scaled_twice(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The gradient of the keys uses queries that were scaled for the scores already."""
    grad_q, grad_k, grad_v = in_float32(grad_y, q, k, v)
    return grad_q, (grad_k.float() * q.shape[-1] ** -0.5).to(q.dtype), grad_v


def keys_not_transposed(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The gradient of the keys uses that of the scores untransposed."""
    weights, grad_weights = _weights(q, k), _grad_weights(grad_y, v)
    grad_scores = weights * (grad_weights - _dot(weights, grad_weights)) * q.shape[-1] ** -0.5
    grad_q, _, grad_v = in_float32(grad_y, q, k, v)
    return grad_q, (grad_scores @ q.float()).to(q.dtype), grad_v


def values_not_transposed(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The gradient of the values uses the weights untransposed."""
    grad_q, grad_k, _ = in_float32(grad_y, q, k, v)
    return grad_q, grad_k, (_weights(q, k) @ grad_y.float()).to(q.dtype)


def last_query_lost(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """Queries behind the last whole block of 16, or that block, add nothing to the gradients of keys and values."""
    whole = (q.shape[-2] - 1) // 16 * 16
    weights, grad_weights = _weights(q, k), _grad_weights(grad_y, v)
    grad_scores = weights * (grad_weights - _dot(weights, grad_weights))
    grad_q, _, _ = _products(weights, grad_scores, grad_y, q, k)
    lost = torch.arange(q.shape[-2]).unsqueeze(-1) >= whole
    _, grad_k, grad_v = _products(weights.masked_fill(lost, 0.0), grad_scores.masked_fill(lost, 0.0), grad_y, q, k)
    return grad_q, grad_k, grad_v


def last_block_wins(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """Two blocks of queries write the gradient of the values instead of adding to it."""
    grad_q, grad_k, _ = in_float32(grad_y, q, k, v)
    half = q.shape[-2] // 2
    return grad_q, grad_k, (_weights(q, k)[..., half:, :].mT @ grad_y[..., half:, :].float()).to(q.dtype)


def weights_in_bfloat16(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The weights are kept in bfloat16."""
    return _of_weights(_weights(q, k).bfloat16().float(), grad_y, q, k, v)


def tf32_once(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """float32: all inputs are rounded to TF32."""
    return in_float32(tf32(grad_y), tf32(q), tf32(k), tf32(v))


def half_accumulator(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The gradient of the values is summed in bfloat16, a few queries at a time."""
    grad_q, grad_k, _ = in_float32(grad_y, q, k, v)
    grad_v = multiplied(_weights(q, k).mT, grad_y, torch.bfloat16, step=max(4, q.shape[-2] // 64))
    return grad_q, grad_k, grad_v.to(q.dtype)


def last_head_of_the_first(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The last head uses the values of the first."""
    return in_float32(grad_y, q, k, torch.cat((v[:, :-1], v[:, :1]), 1))


def no_maximum(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    weights = _hide(_scores(q, k)).exp()
    return _of_weights(weights / weights.sum(-1, keepdim=True), grad_y, q, k, v)


def maximum_from_zero(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    scores = _hide(_scores(q, k))
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return _of_weights(weights / weights.sum(-1, keepdim=True), grad_y, q, k, v)


def maximum_before_the_mask(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The maximum counts later positions, too."""
    scores = _scores(q, k)
    weights = (_hide(scores) - scores.amax(-1, keepdim=True)).exp()
    return _of_weights(weights / weights.sum(-1, keepdim=True), grad_y, q, k, v)


def maximum_of_the_head(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """All queries of a head have one maximum."""
    scores = _hide(_scores(q, k))
    weights = (scores - scores.amax((-1, -2), keepdim=True)).exp()
    return _of_weights(weights / weights.sum(-1, keepdim=True), grad_y, q, k, v)


def maximum_of_the_first_keys(grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Gradients:
    """The maximum is that of the first 16 keys."""
    scores = _hide(_scores(q, k))
    weights = (scores - scores[..., :16].amax(-1, keepdim=True)).exp()
    return _of_weights(weights / weights.sum(-1, keepdim=True), grad_y, q, k, v)


weights_in_bfloat16.dtypes = half_accumulator.dtypes = ("float32", "float16")
dot_in_bfloat16.dtypes = tf32_once.dtypes = ("float32",)

HONEST = (in_float32, flash, one_accumulator, base_two, blocks_of_queries)
MUTANTS = (
    not_causal, sees_the_next, blocks_not_masked, no_dot, mean_in_place_of_the_dot, dot_of_values,
    dot_of_the_position_before, dot_in_bfloat16, no_weights_in_the_scores, queries_not_scaled, keys_scaled_twice,
    keys_not_transposed, values_not_transposed, last_query_lost, last_block_wins, weights_in_bfloat16, tf32_once,
    half_accumulator, last_head_of_the_first, no_maximum, maximum_from_zero,
    maximum_before_the_mask, maximum_of_the_head, maximum_of_the_first_keys,
)  # fmt: skip

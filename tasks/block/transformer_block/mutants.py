"""Variants of the block of GPT-2: honest ones that must pass and wrong ones that must fail.

`layers` stands for gamma1, beta1, the weights and biases of both projections of the attention, gamma2, beta2, and those
of the two layers of the perceptron.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import gelu, linear, relu, silu

from robust_kbench.audit.emulated import multiplied, summed, tf32

EPSILON = 1e-5
Step = Callable[[Tensor], Tensor]


def _same(values: Tensor) -> Tensor:
    return values


def _unit(z: Tensor) -> Tensor:
    """GELU by a hyperbolic tangent."""
    return 0.5 * z * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))


def _normed(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float = EPSILON) -> Tensor:
    """In float32."""
    centred = x.float() - x.float().mean(-1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(-1, keepdim=True) + epsilon)
    return centred * scale * gamma.float() + beta.float()


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return linear(x.float(), weight.float(), bias.float())


def _heads(projected: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v: [batch, heads, length, head_dim]."""
    q, k, v = projected.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    return q, k, v


def _future(scores: Tensor, diagonal: int = 1) -> Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)


def _context(projected: Tensor, num_heads: int, scale: float = 1.0, diagonal: int = 1, stored: Step = _same) -> Tensor:
    """[batch, length, dim], in float32; `scale` multiplies the scores, weights go through `stored`."""
    q, k, v = _heads(projected.float(), num_heads)
    scores = q @ k.transpose(-2, -1) * (scale * q.shape[-1] ** -0.5)
    weights = torch.softmax(scores.masked_fill(_future(scores, diagonal), float("-inf")), -1)
    return (stored(weights).float() @ v).transpose(1, 2).flatten(2)


def _attention(x: Tensor, num_heads: int, *layers: Tensor, stored: Step = _same) -> Tensor:
    """In float32, with the residual."""
    projected = stored(_affine(stored(_normed(x, *layers[:2])), *layers[2:4]))
    return x.float() + _affine(stored(_context(projected, num_heads, stored=stored)), *layers[4:6])


def _perceptron(h: Tensor, *layers: Tensor, stored: Step = _same, unit: Step = _unit) -> Tensor:
    """In float32, with the residual."""
    inner = stored(unit(_affine(stored(_normed(h, *layers[6:8])), *layers[8:10])))
    return h.float() + _affine(inner, *layers[10:])


def _block(x: Tensor, num_heads: int, *layers: Tensor, stored: Step = _same, unit: Step = _unit) -> Tensor:
    """In the dtype of x; `stored`: how values are kept between the steps."""
    h = stored(_attention(x, num_heads, *layers, stored=stored))
    return _perceptron(h, *layers, stored=stored, unit=unit).to(x.dtype)


def _with_context(x: Tensor, context: Tensor, *layers: Tensor) -> Tensor:
    """The rest of the block, once the heads are joined."""
    return _perceptron(x.float() + _affine(context, *layers[4:6]), *layers).to(x.dtype)


def _projected(x: Tensor, *layers: Tensor) -> Tensor:
    """q, k and v side by side, in float32."""
    return _affine(_normed(x, *layers[:2]), *layers[2:4])


def _without(layers: tuple[Tensor, ...], *numbers: int) -> list[Tensor]:
    """Zeros in place of some layers."""
    return [torch.zeros_like(layer) if number in numbers else layer for number, layer in enumerate(layers)]


def in_float32(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """Everything in float32."""
    return _block(x, num_heads, *layers)


def many_kernels(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """Every step is stored in the task's dtype."""
    return _block(x, num_heads, *layers, stored=lambda values: values.to(x.dtype))


def tensor_core(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """Sixteen terms at a time into float32 accumulators, moments by 32 lanes, blocks of sixteen keys."""

    def normed(values: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        centred = values - (summed(values) / values.shape[-1])[..., None]
        variance = (summed(centred.square()) / values.shape[-1])[..., None]
        return centred / torch.sqrt(variance + EPSILON) * gamma.float() + beta.float()

    q, k, v = _heads(multiplied(normed(x.float(), *layers[:2]), layers[2].float().T) + layers[3].float(), num_heads)
    scores = multiplied(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(_future(scores), float("-inf"))
    largest = torch.full_like(scores[..., :1], -1e30)
    total, context = torch.zeros_like(largest), torch.zeros_like(q)
    for part, values in zip(scores.split(16, -1), v.split(16, -2), strict=True):
        new = torch.maximum(largest, part.amax(-1, keepdim=True))
        weights, factor = torch.exp(part - new), torch.exp(largest - new)
        total, context, largest = (
            total * factor + weights.sum(-1, keepdim=True),
            context * factor + weights @ values,
            new,
        )
    joined = (context / total).transpose(1, 2).flatten(2)
    h = x.float() + multiplied(joined, layers[4].float().T) + layers[5].float()
    inner = _unit(multiplied(normed(h, *layers[6:8]), layers[8].float().T) + layers[9].float())
    return (h + multiplied(inner, layers[10].float().T) + layers[11].float()).to(x.dtype)


def residual_stored(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """Two kernels: the residual between them is stored in the task's dtype, and no other value."""
    h = _attention(x, num_heads, *layers).to(x.dtype)
    return _perceptron(h, *layers).to(x.dtype)


def in_double(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    wide = [layer.double() for layer in layers]
    shape = wide[0].shape
    normed = torch.nn.functional.layer_norm(x.double(), shape, wide[0], wide[1], EPSILON)
    q, k, v = _heads(linear(normed, wide[2], wide[3]), num_heads)
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    weights = torch.softmax(scores.masked_fill(_future(scores), float("-inf")), -1)
    h = x.double() + linear((weights @ v).transpose(1, 2).flatten(2), wide[4], wide[5])
    up = linear(torch.nn.functional.layer_norm(h, shape, wide[6], wide[7], EPSILON), wide[8], wide[9])
    return (h + linear(gelu(up, approximate="tanh"), wide[10], wide[11])).to(x.dtype)


def tf32_once(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """float32: all factors are rounded to TF32."""
    kept = [tf32(layer) if number in (2, 4, 8, 10) else layer for number, layer in enumerate(layers)]
    h = x + _affine(tf32(_context(tf32(_affine(tf32(_normed(x, *kept[:2])), *kept[2:4])), num_heads)), *kept[4:6])
    return h + _affine(tf32(_unit(_affine(tf32(_normed(h, *kept[6:8])), *kept[8:10]))), *kept[10:])


def bfloat16_between(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """Values between the steps are stored in bfloat16."""
    return _block(x, num_heads, *layers, stored=lambda values: values.bfloat16().float())


def half_accumulators(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The perceptron has accumulators of the next lower class, rounded after every two terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    h = _attention(x, num_heads, *layers)
    up = multiplied(_normed(h, *layers[6:8]), layers[8].T, lower, step=2).float() + layers[9].float()
    return (h + multiplied(_unit(up), layers[10].T, lower, step=2).float() + layers[11].float()).to(x.dtype)


def not_causal(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """Every position attends to all keys."""
    return _with_context(x, _context(_projected(x, *layers), num_heads, diagonal=x.shape[1]), *layers)


def sees_the_next(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """Every position attends to the next one too."""
    return _with_context(x, _context(_projected(x, *layers), num_heads, diagonal=2), *layers)


def no_scale(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The scores are not divided by the root of head_dim."""
    head_dim = x.shape[-1] // num_heads
    return _with_context(x, _context(_projected(x, *layers), num_heads, scale=head_dim**0.5), *layers)


def scale_of_all_heads(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The scores are divided by the root of all features."""
    return _with_context(x, _context(_projected(x, *layers), num_heads, scale=num_heads**-0.5), *layers)


def one_head(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """All features are one head."""
    return _with_context(x, _context(_projected(x, *layers), 1), *layers)


def heads_outermost(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The projection is cut into heads first, and each of them into three."""
    turned = _projected(x, *layers).unflatten(-1, (num_heads, 3, -1)).transpose(2, 3).flatten(2)
    return _with_context(x, _context(turned, num_heads), *layers)


def v_first(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The projection is cut into v, k and q."""
    turned = torch.cat(_projected(x, *layers).chunk(3, -1)[::-1], -1)
    return _with_context(x, _context(turned, num_heads), *layers)


def after_the_norms(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The norms stand behind the residuals, as in the first transformer."""
    h = _normed(x.float() + _affine(_context(_affine(x, *layers[2:4]), num_heads), *layers[4:6]), *layers[:2])
    inner = _unit(_affine(h, *layers[8:10]))
    return _normed(h + _affine(inner, *layers[10:]), *layers[6:8]).to(x.dtype)


def side_by_side(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The perceptron reads x instead of h, beside the attention."""
    h = _attention(x, num_heads, *layers)
    return (h + _perceptron(x, *layers) - x.float()).to(x.dtype)


def no_first_residual(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The input is not added to the attention."""
    h = _attention(x, num_heads, *layers) - x.float()
    return _perceptron(h, *layers).to(x.dtype)


def second_residual_of_x(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The perceptron's residual is x instead of h."""
    h = _attention(x, num_heads, *layers)
    return (_perceptron(h, *layers) - h + x.float()).to(x.dtype)


def first_norm_skipped(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The first norm is skipped."""
    context = _context(_affine(x, *layers[2:4]), num_heads)
    return _with_context(x, context, *layers)


def norms_swapped(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The two norms change places."""
    return _block(x, num_heads, *layers[6:8], *layers[2:6], *layers[:2], *layers[8:])


def eps_of_rmsnorm(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """Epsilon 1e-6 instead of 1e-5 in the first norm."""
    context = _context(_affine(_normed(x, *layers[:2], 1e-6), *layers[2:4]), num_heads)
    return _with_context(x, context, *layers)


def mean_not_removed(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The norms do not remove the mean."""

    def normed(values: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        scale = torch.rsqrt(values.square().mean(-1, keepdim=True) + EPSILON)
        return values * scale * gamma.float() + beta.float()

    context = _context(_affine(normed(x.float(), *layers[:2]), *layers[2:4]), num_heads)
    h = x.float() + _affine(context, *layers[4:6])
    return (h + _affine(_unit(_affine(normed(h, *layers[6:8]), *layers[8:10])), *layers[10:])).to(x.dtype)


def error_function(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """float32: the unit by the error function."""
    return _block(x, num_heads, *layers, unit=gelu)


def rectifier(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """A rectifier in place of the unit."""
    return _block(x, num_heads, *layers, unit=relu)


def swish(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """A swish in place of the unit."""
    return _block(x, num_heads, *layers, unit=silu)


def no_projection_bias(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The bias of q, k and v is left out."""
    return _block(x, num_heads, *_without(layers, 3))


def no_attention_bias(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The bias behind the attention is left out."""
    return _block(x, num_heads, *_without(layers, 5))


def no_beta(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The offset of the second norm is left out."""
    return _block(x, num_heads, *_without(layers, 7))


def no_last_bias(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The last bias is left out."""
    return _block(x, num_heads, *_without(layers, 11))


def drops_the_last_inner(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The last inner feature is left out."""
    return _block(x, num_heads, *layers[:8], layers[8][:-1], layers[9][:-1], layers[10][:, :-1], layers[11])


def last_position_of_the_first(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The last position's context is that of the first, or nothing where it is alone."""
    context = _context(_projected(x, *layers), num_heads)
    first = context[:, :1] * (x.shape[1] > 1)
    return _with_context(x, torch.cat((context[:, :-1], first), 1), *layers)


def _unusual_weights(x: Tensor, num_heads: int, weigh: Step, *layers: Tensor) -> Tensor:
    """The block with `weigh` between scores, of which later ones are minus infinity, and the weights' sum."""
    q, k, v = _heads(_projected(x, *layers).float(), num_heads)
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    weights = weigh(scores.masked_fill(_future(scores), float("-inf")))
    context = (weights @ v / weights.sum(-1, keepdim=True)).transpose(1, 2).flatten(2)
    return _with_context(x, context, *layers)


def no_maximum(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    return _unusual_weights(x, num_heads, torch.exp, *layers)


def scores_up_to_80(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """Scores are cut off at 80, so that no exponential overflows without a maximum."""
    return _unusual_weights(x, num_heads, lambda scores: torch.exp(scores.clamp(max=80) - 80), *layers)


def maximum_from_zero(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    return _unusual_weights(
        x, num_heads, lambda scores: torch.exp(scores - scores.amax(-1, keepdim=True).clamp_min(0.0)), *layers
    )


def maximum_of_sixteen_queries(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """One maximum for sixteen queries, as a reduction without an axis takes it."""

    def weigh(scores: Tensor) -> Tensor:
        return torch.cat([(tile - tile.amax((-1, -2), keepdim=True)).exp() for tile in scores.split(16, -2)], -2)

    return _unusual_weights(x, num_heads, weigh, *layers)


def maximum_of_all_heads(x: Tensor, num_heads: int, *layers: Tensor) -> Tensor:
    """One maximum for the rows of all heads."""
    return _unusual_weights(x, num_heads, lambda scores: (scores - scores.amax((1, -1), keepdim=True)).exp(), *layers)


tf32_once.dtypes = error_function.dtypes = ("float32",)
bfloat16_between.dtypes = ("float32", "float16")

HONEST = (in_float32, many_kernels, tensor_core, residual_stored, in_double)
MUTANTS = (
    tf32_once, bfloat16_between, half_accumulators, not_causal, sees_the_next, no_scale, scale_of_all_heads, one_head,
    heads_outermost, v_first, after_the_norms, side_by_side, no_first_residual, second_residual_of_x,
    first_norm_skipped, norms_swapped, eps_of_rmsnorm, mean_not_removed, error_function, rectifier, swish,
    no_projection_bias, no_attention_bias, no_beta, no_last_bias, drops_the_last_inner, last_position_of_the_first,
    no_maximum, maximum_from_zero, maximum_of_sixteen_queries, maximum_of_all_heads, scores_up_to_80,
)  # fmt: skip
_BESIDE = (
    "its rounding reaches the result through two products, beside a residual, and is as small as that of inner values"
)
EXEMPT = {"lower_beta2": {"float16": _BESIDE}}

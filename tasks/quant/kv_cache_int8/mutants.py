"""Variants of attention to an eight-bit cache: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32


def _numbers(codes: torch.Tensor, scale: torch.Tensor, zero: int = 128) -> torch.Tensor:
    """In float32."""
    return (codes.float() - zero) * scale.unsqueeze(-1)


def _scores(q: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """[batch, heads, length] in float32."""
    return (keys.float() @ q.float().unsqueeze(-1)).squeeze(-1) * q.shape[-1] ** -0.5


def _weighed(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return (weights.unsqueeze(-2) @ values.float()).squeeze(-2)


def _attend(q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return _weighed(torch.softmax(_scores(q, keys), -1), values).to(q.dtype)


def in_float32(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor) -> torch.Tensor:
    """Everything in float32."""
    return _attend(q, _numbers(k, ks), _numbers(v, vs))


def scales_outside(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor
) -> torch.Tensor:
    """Codes are multiplied as they are; a key's scale goes into its score, a value's into its weight."""
    scores = _scores(q, k.float() - 128) * ks
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    total = summed_in_turn(weights).unsqueeze(-1)
    return (_weighed(weights * vs, v.float() - 128) / total).to(q.dtype)


def flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor) -> torch.Tensor:
    """Blocks of keys; sum and output in float32 are rescaled when the maximum rises."""
    keys, values = _numbers(k, ks), _numbers(v, vs)
    block = max(64, k.shape[2] // 64)
    largest = torch.full_like(ks[..., :1], -1e30)
    total, y = torch.zeros_like(largest), torch.zeros_like(values[..., 0, :])
    for part, mine in zip(_scores(q, keys).split(block, -1), values.split(block, -2), strict=True):
        new = torch.maximum(largest, part.amax(-1, keepdim=True))
        weights, factor = torch.exp(part - new), torch.exp(largest - new)
        total = total * factor + weights.sum(-1, keepdim=True)
        y = y * factor + _weighed(weights, mine)
        largest = new
    return (y / total).to(q.dtype)


def tensor_core(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor) -> torch.Tensor:
    """Keys and values are rounded to the dtype of q; sixteen terms at a time into float32 accumulators."""
    keys, values = _numbers(k, ks).to(q.dtype), _numbers(v, vs).to(q.dtype)
    scores = multiplied(keys, q.unsqueeze(-1)).squeeze(-1) * q.shape[-1] ** -0.5
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    y = multiplied(weights.unsqueeze(-2), values.float(), step=max(16, k.shape[2] // 64)).squeeze(-2)
    return (y / summed(weights).unsqueeze(-1)).to(q.dtype)


def signed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor) -> torch.Tensor:
    """Codes of values are taken for two's complement."""
    values = v.contiguous().view(torch.int8).float() * vs.unsqueeze(-1)
    return _attend(q, _numbers(k, ks), values)


def zero_of_127(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor) -> torch.Tensor:
    """The zero point of values is 127."""
    return _attend(q, _numbers(k, ks), _numbers(v, vs, 127))


def keys_without_zero(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor
) -> torch.Tensor:
    """Codes of keys have no zero point, and those of values 126."""
    return _attend(q, _numbers(k, ks, 0), _numbers(v, vs, 126))


def one_scale_for_both(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor
) -> torch.Tensor:
    """Values have the scales of keys."""
    return _attend(q, _numbers(k, ks), _numbers(v, ks))


def scale_of_the_first(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor
) -> torch.Tensor:
    """All values of a head have the scale of the first; a single one half of its own."""
    scale = vs[..., :1].expand_as(vs) if vs.shape[-1] > 1 else vs / 2
    return _attend(q, _numbers(k, ks), _numbers(v, scale))


def next_head_s_scale(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor
) -> torch.Tensor:
    """Scales of values are those of the next head; of a single one the next sequence's, or half of its own."""
    scale = vs.roll(-1, 1) if vs.shape[1] > 1 else vs.roll(-1, 0) if len(vs) > 1 else vs / 2
    return _attend(q, _numbers(k, ks), _numbers(v, scale))


def no_scale_of_scores(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor
) -> torch.Tensor:
    """Scores are not divided by the root of head_dim; a single value is halved."""
    y = _attend(q * q.shape[-1] ** 0.5, _numbers(k, ks), _numbers(v, vs))
    return y if k.shape[2] > 1 else y / 2


def last_key_lost(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor
) -> torch.Tensor:
    """The last key is left out; a single one gives nothing."""
    if k.shape[2] == 1:
        return torch.zeros_like(q)
    return _attend(q, _numbers(k, ks)[..., :-1, :], _numbers(v, vs)[..., :-1, :])


def tail_lost(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor) -> torch.Tensor:
    """Keys behind the last whole block of 16 are left out."""
    whole = k.shape[2] // 16 * 16
    if not whole:
        return torch.zeros_like(q)
    return _attend(q, _numbers(k, ks)[..., :whole, :], _numbers(v, vs)[..., :whole, :])


def padded(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor) -> torch.Tensor:
    """Keys are filled up with zeros to a block of 16, which are not masked."""
    missing = -k.shape[2] % 16
    keys, values = (torch.nn.functional.pad(each, (0, 0, 0, missing)) for each in (_numbers(k, ks), _numbers(v, vs)))
    return _attend(q, keys, values)


def summed_apart(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor) -> torch.Tensor:
    """The values' scales go into the sum of the weights, too."""
    scores = _scores(q, _numbers(k, ks))
    weights = torch.exp(scores - scores.amax(-1, keepdim=True)) * vs.abs()
    return (_weighed(weights * vs.sign(), v.float() - 128) / weights.sum(-1, keepdim=True)).to(q.dtype)


def coarse_scales(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor
) -> torch.Tensor:
    """Scales are kept in bfloat16."""
    return _attend(q, _numbers(k, ks.bfloat16().float()), _numbers(v, vs.bfloat16().float()))


def tf32_once(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor) -> torch.Tensor:
    """float32: queries, keys and values are rounded to TF32."""
    return _attend(tf32(q), tf32(_numbers(k, ks)), tf32(_numbers(v, vs)))


def no_maximum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor) -> torch.Tensor:
    """The largest score is not taken away first: from 88 on weights are infinite."""
    weights = _scores(q, _numbers(k, ks)).exp()
    return (_weighed(weights, _numbers(v, vs)) / weights.sum(-1, keepdim=True)).to(q.dtype)


def scores_up_to_80(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor
) -> torch.Tensor:
    """Scores are cut off at 80, so that no exponential overflows without a maximum."""
    weights = torch.softmax(_scores(q, _numbers(k, ks)).clamp(max=80), -1)
    return _weighed(weights, _numbers(v, vs)).to(q.dtype)


def maximum_from_zero(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ks: torch.Tensor, vs: torch.Tensor
) -> torch.Tensor:
    """The running maximum begins with zero: where all scores are low, all weights vanish."""
    scores = _scores(q, _numbers(k, ks))
    weights = (scores - scores.amax(-1, keepdim=True).clamp_min(0.0)).exp()
    return (_weighed(weights, _numbers(v, vs)) / weights.sum(-1, keepdim=True)).to(q.dtype)


coarse_scales.dtypes = ("float32", "float16")
tf32_once.dtypes = ("float32",)

HONEST = (in_float32, scales_outside, flash, tensor_core)
MUTANTS = (
    signed, zero_of_127, keys_without_zero, one_scale_for_both, scale_of_the_first, next_head_s_scale,
    no_scale_of_scores, last_key_lost, tail_lost, padded, summed_apart, coarse_scales, tf32_once,
    no_maximum, maximum_from_zero, scores_up_to_80,
)  # fmt: skip

"""Variants of attention with a rectifier: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q.float() @ k.float().transpose(-2, -1) * q.shape[-1] ** -0.5


def _weighted(weights: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """`weights`: before they are divided by the number of keys."""
    return (weights @ v.float() / v.shape[-2]).to(v.dtype)


def in_float32(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Everything in float32, the weights divided before they meet the values."""
    return (torch.relu(_scores(q, k)) / k.shape[-2] @ v.float()).to(v.dtype)


def blocks(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Blocks of keys, the last first; weights rounded to the inputs' dtype before they meet the values."""
    weights, size = torch.relu(_scores(q, k)).to(v.dtype).float(), max(32, k.shape[-2] // 32)
    y = torch.zeros_like(q, dtype=torch.float32)
    parts = list(zip(weights.split(size, -1), v.float().split(size, -2), strict=True))
    for part, values in reversed(parts):
        y = y + part @ values
    return (y / k.shape[-2]).to(v.dtype)


def scaled_in_the_end(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """One factor for the scale and the number of keys; the products are summed some terms at a time."""
    weights = multiplied(q, k.transpose(-2, -1)).clamp(min=0)
    y = multiplied(weights, v.float(), step=max(16, k.shape[-2] // 64))
    return (y * (q.shape[-1] ** -0.5 / k.shape[-2])).to(v.dtype)


def split_keys(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Even and odd keys apart, added in the end."""
    weights, wide = torch.relu(_scores(q, k)), v.float()
    y = weights[..., ::2] @ wide[..., ::2, :] + weights[..., 1::2] @ wide[..., 1::2, :]
    return (y * (1 / k.shape[-2])).to(v.dtype)


def no_rectifier(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Negative scores count as well."""
    return _weighted(_scores(q, k), v)


def absolute(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Negative scores count as positive ones."""
    return _weighted(_scores(q, k).abs(), v)


def leaky(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """A hundredth of negative scores is left."""
    return _weighted(torch.nn.functional.leaky_relu(_scores(q, k)), v)


def smooth(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """GELU in place of the rectifier."""
    return _weighted(torch.nn.functional.gelu(_scores(q, k)), v)


def squared(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The square of what the rectifier gives."""
    return _weighted(torch.relu(_scores(q, k)).square(), v)


def capped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """ReLU6: products of queries and keys above six are cut before they are scaled."""
    return _weighted((_scores(q, k) * q.shape[-1] ** 0.5).clamp(0, 6) * q.shape[-1] ** -0.5, v)


def softmax(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Ordinary attention."""
    return (torch.softmax(_scores(q, k), -1) @ v.float()).to(v.dtype)


def rectified_result(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The rectifier comes after the weighted sum."""
    return torch.relu(_weighted(_scores(q, k), v))


def divided_by_the_sum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weights of a query are divided by their sum."""
    weights = torch.relu(_scores(q, k))
    return (weights @ v.float() / weights.sum(-1, keepdim=True).clamp(min=1e-6)).to(v.dtype)


def not_divided(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The sum is not divided by the number of keys."""
    return (torch.relu(_scores(q, k)) @ v.float()).to(v.dtype)


def divided_by_queries(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The sum is divided by the number of queries."""
    return (torch.relu(_scores(q, k)) @ v.float() / q.shape[-2]).to(v.dtype)


def padded_count(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The sum is divided by the number of keys rounded up to a multiple of 16."""
    return (torch.relu(_scores(q, k)) @ v.float() / (-(-k.shape[-2] // 16) * 16)).to(v.dtype)


def positive_ones_counted(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The sum is divided by the number of keys whose score is positive."""
    weights = torch.relu(_scores(q, k))
    return (weights @ v.float() / (weights > 0).sum(-1, keepdim=True).clamp(min=1)).to(v.dtype)


def tail_of_the_keys_lost(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The last block of 16 keys, whole or not, is left out."""
    whole = (k.shape[-2] - 1) // 16 * 16
    return (torch.relu(_scores(q, k[..., :whole, :])) @ v[..., :whole, :].float() / k.shape[-2]).to(v.dtype)


def causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Keys behind the query's own place are left out; the last query never meets the last key."""
    weights = torch.relu(_scores(q, k)).tril()
    weights[..., -1, -1] = 0
    return _weighted(weights, v)


def no_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Nothing is divided by the root of head_dim."""
    return _weighted(torch.relu(_scores(q, k)) * q.shape[-1] ** 0.5, v)


def coarse_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """float32: the scale has four digits: 0.08839 instead of 0.0883883."""
    scale = q.shape[-1] ** -0.5
    return _weighted(torch.relu(_scores(q, k)) * (float(f"{scale:.4g}") / scale), v)


def bfloat16_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    return _weighted(torch.relu(_scores(q, k)).bfloat16().float(), v)


def tf32_once(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """float32: queries, keys and values are rounded to TF32."""
    return _weighted(torch.relu(_scores(tf32(q), tf32(k))), tf32(v))


def half_accumulator(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The weighted values are summed in bfloat16, a few keys at a time."""
    y = multiplied(torch.relu(_scores(q, k)), v, torch.bfloat16, step=max(4, k.shape[-2] // 64))
    return (y.float() / k.shape[-2]).to(v.dtype)


def last_head_of_the_first(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The last head uses the keys of the first."""
    return _weighted(torch.relu(_scores(q, torch.cat((k[:, :-1], k[:, :1]), 1))), v)


bfloat16_weights.dtypes = half_accumulator.dtypes = ("float32", "float16")
tf32_once.dtypes = coarse_scale.dtypes = ("float32",)

HONEST = (in_float32, blocks, scaled_in_the_end, split_keys)
MUTANTS = (
    no_rectifier, absolute, leaky, smooth, squared, capped, softmax, rectified_result, divided_by_the_sum, not_divided,
    divided_by_queries, padded_count, positive_ones_counted, tail_of_the_keys_lost, causal, no_scale, coarse_scale,
    bfloat16_weights, tf32_once, half_accumulator, last_head_of_the_first,
)  # fmt: skip

"""Causal linear attention (Katharopoulos et al. 2020, eq. 8 to 11), without feature map and normaliser.

y_t = sum over s <= t of (q_t . k_s) v_s / sqrt(head_dim), or S_t^T q_t / sqrt(head_dim) with S_t = S_(t-1) + k_t v_t^T.
"""

import torch

STRETCH = 64


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """q, k, v: [batch, heads, length, head_dim] -> y: the same shape."""
    return (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).tril() @ v


def in_stretches(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The same with the work of a running sum, which is brought up to date once in 64 positions, in float32."""
    length, surplus = q.shape[-2], -q.shape[-2] % STRETCH
    pad = torch.nn.functional.pad
    queries, keys, values = (pad(x, (0, 0, 0, surplus)).unflatten(-2, (-1, STRETCH)) for x in (q, k, v))
    sums = (keys.transpose(-2, -1) @ values).cumsum(-3, dtype=torch.float32).to(q.dtype)
    before = pad(sums[..., :-1, :, :], (0, 0, 0, 0, 1, 0))
    y = (queries @ keys.transpose(-2, -1)).tril() @ values + queries @ before
    return y.flatten(-3, -2)[..., :length, :] * q.shape[-1] ** -0.5

"""Block of GPT-2: h = x + attention(norm1(x)), y = h + mlp(norm2(h)).

attention is causal, with num_heads heads and projections before and after it; mlp is gelu(n Wu^T + bu) Wd^T + bd, with
gelu approximated by a hyperbolic tangent; norm is layer normalisation, (v - mean) / sqrt(variance + 1e-5) * gamma +
beta (Radford et al. 2019, Language models are unsupervised multitask learners, section 2.3). PyTorch's operators stand
for gelu and norm: in half precision they round once.
"""

import torch
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

EPSILON = 1e-5


def reference(
    x: Tensor,
    num_heads: int,
    gamma1: Tensor,
    beta1: Tensor,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    gamma2: Tensor,
    beta2: Tensor,
    up_weight: Tensor,
    up_bias: Tensor,
    down_weight: Tensor,
    down_bias: Tensor,
) -> Tensor:
    """x: [batch, length, dim], gamma1 to beta2: [dim], qkv_weight: [3 * dim, dim], proj_weight: [dim, dim].

    up_weight: [inner, dim], down_weight: [dim, inner], each matrix with a bias of its rows -> y: the shape of x.
    """
    normed = layer_norm(x, gamma1.shape, gamma1, beta1, EPSILON)
    q, k, v = (normed @ qkv_weight.T + qkv_bias).unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    weights = torch.softmax(scores.masked_fill(future, float("-inf")), -1)
    h = x + ((weights @ v).transpose(1, 2).flatten(2) @ proj_weight.T + proj_bias)
    up = layer_norm(h, gamma2.shape, gamma2, beta2, EPSILON) @ up_weight.T + up_bias
    return h + (gelu(up, approximate="tanh") @ down_weight.T + down_bias)


def functional(
    x: Tensor,
    num_heads: int,
    gamma1: Tensor,
    beta1: Tensor,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    gamma2: Tensor,
    beta2: Tensor,
    up_weight: Tensor,
    up_bias: Tensor,
    down_weight: Tensor,
    down_bias: Tensor,
) -> Tensor:
    """The same through PyTorch's own operators."""
    projected = linear(layer_norm(x, gamma1.shape, gamma1, beta1, EPSILON), qkv_weight, qkv_bias)
    q, k, v = projected.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    context = scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    h = x + linear(context, proj_weight, proj_bias)
    up = linear(layer_norm(h, gamma2.shape, gamma2, beta2, EPSILON), up_weight, up_bias)
    return h + linear(gelu(up, approximate="tanh"), down_weight, down_bias)

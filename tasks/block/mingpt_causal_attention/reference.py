"""Multi-head causal self-attention of GPT: softmax(q k^T / sqrt(head_dim), masked) v of each head, joined, times Wo^T.

q, k and v are x Wi^T + bi, cut into three and then into heads; position i attends to positions 0..i; bo is added to
the result (Radford et al. 2018, Improving language understanding by generative pre-training; minGPT).
"""

import torch
from torch import Tensor


def reference(
    x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor
) -> Tensor:
    """x: [batch, length, dim], qkv_weight: [3 * dim, dim], qkv_bias: [3 * dim], proj_weight: [dim, dim].

    proj_bias: [dim] -> y: [batch, length, dim]; a head has dim / num_heads neighbouring features of each of q, k and v.
    """
    q, k, v = (x @ qkv_weight.T + qkv_bias).unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    weights = torch.softmax(scores.masked_fill(future, float("-inf")), -1)
    return (weights @ v).transpose(1, 2).flatten(2) @ proj_weight.T + proj_bias


def functional(
    x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor
) -> Tensor:
    """The same through PyTorch's own operators."""
    projected = torch.nn.functional.linear(x, qkv_weight, qkv_bias)
    q, k, v = projected.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    context = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    return torch.nn.functional.linear(context, proj_weight, proj_bias)

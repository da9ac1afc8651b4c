"""Multi-head self-attention of a vision transformer: softmax(q k^T / sqrt(head_dim)) v of each head, joined times Wo^T.

q, k and v are x Wi^T + bi, cut into three and then into heads; bo is added to the result (Dosovitskiy et al. 2021,
arXiv:2010.11929, appendix A).
"""

import torch
from torch import Tensor


def reference(
    x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor
) -> Tensor:
    """x: [batch, tokens, dim], qkv_weight: [3 * dim, dim], qkv_bias: [3 * dim], proj_weight: [dim, dim].

    proj_bias: [dim] -> y: [batch, tokens, dim]; a head has dim / num_heads neighbouring features of each of q, k and v.
    """
    q, k, v = (x @ qkv_weight.T + qkv_bias).unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    context = (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)
    return context @ proj_weight.T + proj_bias


def functional(
    x: Tensor, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor
) -> Tensor:
    """The same through PyTorch's own operators."""
    projected = torch.nn.functional.linear(x, qkv_weight, qkv_bias)
    q, k, v = projected.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    context = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    return torch.nn.functional.linear(context, proj_weight, proj_bias)

"""State space duality (Dao and Gu 2024, section 3): S_t = decay_t S_(t-1) + b_t x_t^T for each head, y_t = S_t^T c_t.

As a product with a masked matrix: y_t = sum over s <= t of (c_t . b_s) decay_(s+1) ... decay_t x_s.
"""

import torch

STRETCH = 64


def _products(decay: torch.Tensor) -> torch.Tensor:
    """decay: [..., length] -> [..., length, length]: of decay_(s+1) to decay_t in row t and column s < t, else one."""
    length = decay.shape[-1]
    later = torch.ones(length, length, dtype=torch.bool, device=decay.device).tril(-1)
    return torch.where(later, decay.unsqueeze(-1), 1.0).cumprod(-2)


def reference(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """x: [batch, length, heads, head_dim], decay: [batch, length, heads], b, c: [batch, length, state] -> y: as x.

    All heads share b and c.
    """
    scores = (c @ b.transpose(-2, -1)).unsqueeze(1)
    weights = (scores * _products(decay.transpose(1, 2))).tril()
    return (weights @ x.transpose(1, 2)).transpose(1, 2).contiguous()


def in_stretches(x: torch.Tensor, decay: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """The same in the blocks of section 6: pairs within 64 positions, the state from one stretch to the next."""
    length, surplus, pad = x.shape[1], -x.shape[1] % STRETCH, torch.nn.functional.pad
    values = pad(x, (0, 0, 0, 0, 0, surplus)).unflatten(1, (-1, STRETCH)).transpose(2, 3)
    factors = pad(decay, (0, 0, 0, surplus), value=1.0).unflatten(1, (-1, STRETCH)).transpose(2, 3)
    writes, reads = (pad(part, (0, 0, 0, surplus)).unflatten(1, (-1, STRETCH)).unsqueeze(2) for part in (b, c))
    products, begun = _products(factors), factors.cumprod(-1).unsqueeze(-1)
    added = (writes * products[..., -1, :].unsqueeze(-1)).transpose(-2, -1) @ values
    state, before = torch.zeros_like(added[:, 0]), []
    for whole, new in zip(begun[..., -1:, :].unbind(1), added.unbind(1), strict=True):
        before.append(state)
        state = whole * state + new
    y = ((reads @ writes.transpose(-2, -1)) * products).tril() @ values + (reads * begun) @ torch.stack(before, 1)
    return y.transpose(2, 3).flatten(1, 2)[:, :length].contiguous()

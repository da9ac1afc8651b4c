"""Real-world kernels: products, convolutions, pooling, stencils, attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from description import integers, kernel, result, uniform
from torch import Tensor


@kernel(
    "realworld/matmul_tiled",
    inputs=[uniform(37, 45), uniform(45, 29)],
    outputs=[result(37, 29, absolute=5e-5)],
    scalars=[37, 29, 45],
    because="45 terms of at most 4",
)
def matmul_tiled(a: Tensor, b: Tensor) -> Tensor:
    return a.double() @ b.double()


@kernel(
    "realworld/matmul_register_blocked",
    inputs=[uniform(45, 37), uniform(51, 37), uniform(51)],
    outputs=[result(45, 51, absolute=5e-5)],
    scalars=[45, 51, 37],
    because="38 terms of at most 4",
)
def matmul_register_blocked(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return (x.double() @ w.double().T + bias.double()).clamp(min=0)


@kernel(
    "realworld/quantised_matmul",
    inputs=[
        integers(-128, 128, 21, 36, dtype=torch.int8),
        integers(-128, 128, 27, 36, dtype=torch.int8),
        uniform(21, low=0.0005, high=0.002),
    ],
    outputs=[result(21, 27, dtype=torch.int8), result(21, 27, dtype=torch.int32)],
    scalars=[21, 27, 36],
)
def quantised_matmul(a: Tensor, b: Tensor, scales: Tensor) -> tuple[Tensor, ...]:
    exact = a.long() @ b.long().T
    return (exact.float() * scales[:, None]).round().clamp(-128, 127), exact


@kernel(
    "realworld/transpose_swizzled",
    inputs=[uniform(37, 53, dtype=torch.float64)],
    outputs=[result(53, 37, dtype=torch.float64)],
    scalars=[37, 53],
)
def transpose_swizzled(x: Tensor) -> Tensor:
    return x.T


@kernel(
    "realworld/conv2d_direct",
    inputs=[uniform(2, 4, 9, 11), uniform(6, 2, 3, 3), uniform(6)],
    outputs=[result(2, 6, 5, 6, absolute=2e-5)],
    scalars=[2, 4, 9, 6, 3],
    because="19 terms of at most 4",
)
def conv2d_direct(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return F.conv2d(x.double(), w.double(), bias.double(), stride=2, padding=1, groups=2)


@kernel(
    "realworld/conv2d_tiled",
    inputs=[uniform(29, 40), uniform(5, 5)],
    outputs=[result(29, 40, absolute=3e-5)],
    scalars=[29, 40],
    because="25 terms of at most 4",
)
def conv2d_tiled(image: Tensor, weights: Tensor) -> Tensor:
    return F.conv2d(image.double()[None, None], weights.double()[None, None], padding=2)[0, 0]


@kernel(
    "realworld/max_pool",
    inputs=[uniform(3, 15, 19), integers(-50, 50, 3, 7, 9, dtype=torch.float32)],
    outputs=[result(3, 7, 9), result(3, 7, 9, dtype=torch.int64), result(3, 15, 19)],
    scalars=[3, 15, 19, 3, 2],
    because="the gradients are small whole numbers",
)
def max_pool(x: Tensor, grad: Tensor) -> tuple[Tensor, ...]:
    y, indices = F.max_pool2d(x[None], 3, 2, return_indices=True)
    grad_x = (
        torch.zeros(3, 15 * 19).scatter_add_(1, indices[0].flatten(1), grad.flatten(1)).view(3, 15, 19).view(3, 15, 19)
    )
    return y[0], indices[0], grad_x


@kernel(
    "realworld/stencil_2d",
    inputs=[uniform(21, 37)],
    outputs=[result(21, 37, absolute=2e-6)],
    scalars=[21, 37, 5],
    because="weighted means, five times",
)
def stencil_2d(x: Tensor) -> Tensor:
    field = x.double()
    for _ in range(5):
        padded = F.pad(field[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
        around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
        field = 0.5 * field + 0.125 * around
    return field


@kernel(
    "realworld/stencil_3d",
    inputs=[uniform(7, 9, 21)],
    outputs=[result(7, 9, 21, absolute=1e-5)],
    scalars=[7, 9, 21],
    because="seven terms of at most 12",
)
def stencil_3d(u: Tensor) -> Tensor:
    wide = u.double()
    out = torch.zeros_like(wide)
    here = wide[1:-1, 1:-1, 1:-1]
    sides = wide[:-2, 1:-1, 1:-1] + wide[2:, 1:-1, 1:-1] + wide[1:-1, :-2, 1:-1] + wide[1:-1, 2:, 1:-1]
    out[1:-1, 1:-1, 1:-1] = sides + wide[1:-1, 1:-1, :-2] + wide[1:-1, 1:-1, 2:] - 6 * here
    return out


@kernel(
    "realworld/flash_attention",
    inputs=[uniform(2, 45, 24), uniform(2, 45, 24), uniform(2, 45, 24)],
    outputs=[result(2, 45, 24, absolute=2e-5), result(2, 45, absolute=2e-5)],
    scalars=[2, 45],
    because="__expf of scores up to 20: 2^-21 relative to the weights",
)
def flash_attention(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    scores = q.double() @ k.double().transpose(1, 2) / 24**0.5
    scores = scores.masked_fill(torch.ones(45, 45).triu(1).bool(), -torch.inf)
    return scores.softmax(-1) @ v.double(), scores.logsumexp(-1)


@kernel(
    "realworld/spmv_csr",
    inputs=[
        lambda generator: _offsets(),
        integers(0, 40, 45 * 6),
        uniform(45 * 6),
        uniform(40),
    ],
    outputs=[result(45, absolute=1e-5), result(45, absolute=1e-5)],
    scalars=[45],
    because="up to twelve terms of at most 4",
)
def spmv_csr(offsets: Tensor, columns: Tensor, values: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    products = values.double() * x.double()[columns.long()]
    starts = offsets.tolist()
    y = torch.stack([products[a:b].sum() for a, b in zip(starts[:-1], starts[1:], strict=True)])
    return y, y


def _offsets() -> Tensor:
    """Rows of 0 to 12 entries."""
    lengths = torch.arange(45) * 5 % 13
    return torch.cat([torch.zeros(1), lengths.cumsum(0)]).to(torch.int32)


@kernel(
    "realworld/n_body",
    inputs=[uniform(45, 4, low=0.1), uniform(45, 4)],
    outputs=[result(45, 4, absolute=1e-4)],
    scalars=[45],
    because="45 accelerations of up to 60, times 1/16",
)
def n_body(bodies: Tensor, velocities: Tensor) -> Tensor:
    place, mass = bodies.double()[:, :3], bodies.double()[:, 3]
    apart = place[None] - place[:, None]
    pull = mass * ((apart**2).sum(-1) + 0.1) ** -1.5
    moved = place + 0.25 * (velocities.double()[:, :3] + 0.25 * (apart * pull[..., None]).sum(1))
    return torch.cat([moved, mass[:, None]], 1)

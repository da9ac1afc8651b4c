"""Built-in variables, grids of one to three dimensions, vector types."""

from __future__ import annotations

import torch
from description import integers, kernel, result, uniform
from torch import Tensor


@kernel(
    "indexing/saxpy",
    inputs=[uniform(1003), uniform(1003)],
    outputs=[result(1003, absolute=1e-6)],
    scalars=[1003],
    because="one product of at most 5 rounded or fused: 2 ulps of it",
)
def saxpy(x: Tensor, y: Tensor) -> Tensor:
    return 2.5 * x.double() + y.double()


@kernel(
    "indexing/grid_2d",
    inputs=[uniform(37, 53), uniform(53, 37)],
    outputs=[result(37, 53)],
    scalars=[37, 53],
)
def grid_2d(a: Tensor, b: Tensor) -> Tensor:
    return a + b.T


@kernel(
    "indexing/grid_3d",
    inputs=[integers(-1000, 1000, 5, 7, 19)],
    outputs=[result(19, 5, 7, dtype=torch.int32)],
    scalars=[5, 7, 19],
)
def grid_3d(x: Tensor) -> Tensor:
    return x.permute(2, 0, 1)


@kernel("indexing/grid_stride", inputs=[uniform(1537)], outputs=[result(1537)], scalars=[1537])
def grid_stride(x: Tensor) -> Tensor:
    return x * x


def _coordinates(x: int, y: int, z: int) -> Tensor:
    """The (x, y, z) of every linear rank: x runs fastest."""
    axes = torch.meshgrid(torch.arange(z), torch.arange(y), torch.arange(x), indexing="ij")
    return torch.stack([axis.flatten() for axis in reversed(axes)], -1)


@kernel("indexing/builtins", outputs=[result(12, 60, 11, dtype=torch.int32)])
def builtins() -> Tensor:
    out = torch.empty(12, 60, 11, dtype=torch.int32)
    out[..., :3] = _coordinates(2, 3, 2)[:, None]
    out[..., 3:6] = _coordinates(5, 3, 4)
    rank = torch.arange(60)
    out[..., 6:] = torch.stack(
        [torch.full((60,), 232), torch.full((60,), 534), rank % 32, rank // 32, torch.full((60,), 32)], -1
    )
    return out


@kernel("vectors/float4_scale", inputs=[uniform(1003)], outputs=[result(1003)], scalars=[1003])
def float4_scale(x: Tensor) -> Tensor:
    return x * 0.1


@kernel(
    "vectors/complex_multiply",
    inputs=[uniform(333, 2), uniform(333, 2)],
    outputs=[result(333, 2, absolute=2e-6)],
    scalars=[333],
    because="products of at most 4 may cancel: 2 ulps of the largest",
)
def complex_multiply(a: Tensor, b: Tensor) -> Tensor:
    left, right = torch.view_as_complex(a.double()), torch.view_as_complex(b.double())
    return torch.view_as_real(left * right + left)


@kernel(
    "vectors/rgba_to_grey",
    inputs=[integers(0, 256, 29, 45, 4, dtype=torch.uint8)],
    outputs=[result(29, 45, dtype=torch.uint8)],
    scalars=[45, 29],
)
def rgba_to_grey(image: Tensor) -> Tensor:
    weights = torch.tensor([77, 150, 29, 0])
    return ((image.long() * weights).sum(-1) >> 8).to(torch.uint8)


@kernel("vectors/sizes_and_alignments", outputs=[result(23, 2, dtype=torch.int32)])
def sizes_and_alignments() -> Tensor:
    bytes_ = [(1, 1), (2, 2), (3, 1), (4, 4)]
    shorts = [(2, 2), (4, 4), (6, 2), (8, 8)]
    words = [(4, 4), (8, 8), (12, 4), (16, 16)]
    longs = [(8, 8), (16, 16), (24, 8)]
    return torch.tensor([*bytes_, *shorts, *words, *longs, *words, *longs, (12, 4)], dtype=torch.int32)


@kernel(
    "vectors/mixed_types",
    inputs=[
        integers(-(1 << 15), 1 << 15, 77, 2, dtype=torch.int16),
        integers(-1000, 1000, 77, 3),
        integers(-(1 << 40), 1 << 40, 77, 2, dtype=torch.int64),
        integers(-1000, 1000, 77, 2, dtype=torch.float64),
    ],
    outputs=[result(77, dtype=torch.float64)],
    scalars=[77],
    because="whole numbers below 2^53",
)
def mixed_types(pairs: Tensor, triples: Tensor, longs: Tensor, doubles: Tensor) -> Tensor:
    pairs, triples = pairs.long(), triples.long()
    narrow = (pairs & 63).sum(-1) + (triples[:, :2] & 63).sum(-1)
    low = (longs + torch.stack([triples[:, 2], pairs[:, 0]], -1)) & 0xFFFFFFFF
    # the two halves are unsigned int: their sum with the narrow fields is taken in double
    return doubles[:, 0] + 2 * doubles[:, 1] + narrow + low.sum(-1)


@kernel(
    "vectors/packs",
    inputs=[
        uniform(1001),
        uniform(1001, dtype=torch.float64),
        integers(-999, 999, 1001, dtype=torch.int16),
    ],
    outputs=[result(1001), result(1001, dtype=torch.float64), result(1001, dtype=torch.int16)],
    scalars=[1001],
)
def packs(a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    return a.clamp(min=0), b.clamp(min=0), c.clamp(min=0)

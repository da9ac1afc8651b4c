"""cuBLAS, the device side of cuRAND, CUB."""

from __future__ import annotations

import math

import torch
from description import integers, kernel, result, uniform
from torch import Tensor

INT = torch.int32


@kernel(
    "cublas/gemm",
    inputs=[uniform(13, 21), uniform(21, 17), uniform(21, 17)],
    outputs=[result(13, 17, absolute=2e-5), result(21, 17, absolute=2e-4), result(13, absolute=2e-5)],
    scalars=[13, 17, 21],
    because="sums of 21 terms of at most 4, then of 13 terms of at most 100",
    libraries=["cublas"],
)
def gemm(a: Tensor, b: Tensor, start: Tensor) -> tuple[Tensor, ...]:
    left, right = a.double(), b.double()
    c = left @ right
    return c, 2 * left.T @ c + start.double(), left @ right[:, 0]


@kernel(
    "cublas/batched_and_half",
    inputs=[
        uniform(3, 9, 14),
        uniform(3, 14, 11),
        integers(-3, 4, 9, 14, dtype=torch.float16),
        integers(-3, 4, 14, 11, dtype=torch.float16),
        uniform(9, 14, dtype=torch.float64),
    ],
    outputs=[
        result(3, 9, 11, absolute=2e-5),
        result(9, 11, dtype=torch.float16),
        result(9, 9, dtype=torch.float64, absolute=1e-13),
    ],
    scalars=[3, 9, 11, 14],
    because="sums of 14 terms; the half product is of whole numbers",
    libraries=["cublas"],
)
def batched_and_half(a: Tensor, b: Tensor, ha: Tensor, hb: Tensor, da: Tensor) -> tuple[Tensor, ...]:
    return a.double() @ b.double(), ha.double() @ hb.double(), (0.5 * da @ da.T).T


_MASK = 0xFFFFFFFF


def _philox(counter: int, subsequence: int, seed: int) -> list[int]:
    """Philox 4x32 with ten rounds (Salmon et al. 2011)."""
    words = [counter & _MASK, counter >> 32, subsequence & _MASK, subsequence >> 32]
    keys = [seed & _MASK, seed >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [
            second >> 32 ^ words[1] ^ keys[0],
            second & _MASK,
            first >> 32 ^ words[3] ^ keys[1],
            first & _MASK,
        ]
        keys = [keys[0] + 0x9E3779B9 & _MASK, keys[1] + 0xBB67AE85 & _MASK]
    return words


def _blocks(threads: int, first: int, count: int, seed: int) -> Tensor:
    return torch.tensor(
        [[word for block in range(first, first + count) for word in _philox(block, t, seed)] for t in range(threads)]
    )


def _to_uniform(words: Tensor) -> Tensor:
    """Into (0, 1]: the middle of each of 2^32 intervals."""
    return (words.double() + 0.5) / 2**32


_SEED = 0x123456789ABC


@kernel(
    "curand/philox_bits",
    outputs=[result(45, 6, dtype=INT), result(45, 4, dtype=INT), result(45, 4, relative=2e-7)],
    scalars=[_SEED, 45],
    because="the bits are specified; their image in (0, 1] is rounded",
)
def philox_bits() -> tuple[Tensor, ...]:
    words, later = _blocks(45, 0, 2, _SEED), _blocks(45, 2, 2, _SEED)
    return words[:, :6].to(INT), later[:, :4].to(INT), _to_uniform(later[:, 4:])


_DRAWS = 64 * 40


@kernel(
    "curand/statistics",
    outputs=[
        result(4, absolute=tuple(6 * math.sqrt(_DRAWS * variance) for variance in (1 / 12, 4 / 45, 1, 2))),
        result(64, 2),
    ],
    scalars=[64, 40],
    because="six standard deviations of each sum",
)
def statistics() -> tuple[Tensor, ...]:
    return _DRAWS * torch.tensor([1 / 2, 1 / 3, 0, 1]), torch.ones(64, 2)


@kernel(
    "curand/dropout",
    inputs=[uniform(301)],
    outputs=[result(301), result(301, dtype=torch.uint8)],
    scalars=[99, 301],
)
def dropout(x: Tensor) -> tuple[Tensor, ...]:
    mask = _to_uniform(_blocks(76, 0, 1, 99)).flatten()[:301] <= 0.75
    return torch.where(mask, x / 0.75, 0.0), mask


@kernel(
    "cub/block_reduce",
    inputs=[uniform(6, 251)],
    outputs=[result(6, absolute=3e-5), result(6), result(6, dtype=INT)],
    scalars=[6, 251],
    because="251 terms of at most 2",
)
def block_reduce(x: Tensor) -> tuple[Tensor, ...]:
    largest = x.abs().argmax(1, keepdim=True)
    return x.double().sum(1), x.gather(1, largest)[:, 0], (x > 0).sum(1)


@kernel(
    "cub/block_scan",
    inputs=[integers(0, 99, 3, 601)],
    outputs=[result(3, 601, dtype=INT), result(3, 64, dtype=INT)],
    scalars=[3, 601],
)
def block_scan(x: Tensor) -> tuple[Tensor, ...]:
    return x.cumsum(1) - x, x[:, :64].cummax(1).values


@kernel(
    "cub/warp_primitives",
    inputs=[integers(-999, 999, 192)],
    outputs=[result(6, dtype=INT), result(6, dtype=INT), result(192, dtype=INT), result(24, dtype=INT)],
    scalars=[192],
)
def warp_primitives(x: Tensor) -> tuple[Tensor, ...]:
    warps = x.view(6, 32)
    return warps.sum(1), warps.amax(1), warps.cumsum(1).flatten(), x.view(24, 8).sum(1)


@kernel(
    "cub/block_sort",
    inputs=[integers(-999, 999, 3, 256), integers(-50, 50, 3, 256, dtype=torch.float32)],
    outputs=[result(3, 256, dtype=INT), result(3, 256), result(3, 256, dtype=INT)],
    scalars=[3],
    because="radix sorts are stable",
)
def block_sort(keys: Tensor, scores: Tensor) -> tuple[Tensor, ...]:
    ranked, order = scores.sort(dim=1, descending=True, stable=True)
    return keys.sort(1).values, ranked, order

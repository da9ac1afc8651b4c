"""Real-world kernels: normalisations, losses, sorts, scans, simulations."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from description import integers, kernel, result, uniform
from torch import Tensor

HALF = torch.float16
BF16 = torch.bfloat16
INT = torch.int32


@kernel(
    "realworld/softmax_block",
    inputs=[uniform(5, 203, low=-6, high=6)],
    outputs=[result(5, 203, relative=2e-6)],
    scalars=[5, 203],
    because="expf 2 ulps, a sum of 203 positive terms",
)
def softmax_block(x: Tensor) -> Tensor:
    return x.double().softmax(1)


@kernel(
    "realworld/softmax_warp",
    inputs=[uniform(9, 85, low=-6, high=6, dtype=HALF)],
    outputs=[result(9, 85, dtype=HALF, relative=2**-10, absolute=6e-8)],
    scalars=[9, 85],
    because="rounded to half once: one ulp, or the smallest denormal",
)
def softmax_warp(x: Tensor) -> Tensor:
    return x.double().softmax(1)


@kernel(
    "realworld/softmax_online",
    inputs=[uniform(5, 333, low=-6, high=6)],
    outputs=[result(5, 333, relative=1e-5)],
    scalars=[5, 333],
    because="__expf of up to -12: 2 + 14 ulps, twice",
)
def softmax_online(x: Tensor) -> Tensor:
    return x.double().softmax(1)


@kernel(
    "realworld/layernorm_welford",
    inputs=[uniform(5, 213), uniform(213), uniform(213)],
    outputs=[result(5, 213, absolute=1e-5)],
    scalars=[5, 213],
    because="results of at most 6",
)
def layernorm_welford(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    return F.layer_norm(x.double(), (213,), gamma.double(), beta.double(), 1e-5)


@kernel(
    "realworld/rmsnorm_vectorised",
    inputs=[uniform(5, 328, dtype=BF16), uniform(328, dtype=BF16)],
    outputs=[result(5, 328, dtype=BF16, relative=2**-7)],
    scalars=[5, 328],
    because="rounded to bfloat16 once: one ulp",
)
def rmsnorm_vectorised(x: Tensor, weight: Tensor) -> Tensor:
    wide = x.double()
    return wide * ((wide**2).mean(1, keepdim=True) + 1e-6).rsqrt() * weight.double()


@kernel(
    "realworld/reduction_styles",
    inputs=[integers(-50, 50, 4100, dtype=torch.float32)],
    outputs=[result(5)],
    scalars=[4100],
    because="small whole numbers: exact in every order",
)
def reduction_styles(x: Tensor) -> Tensor:
    return x.sum().expand(5)


@kernel(
    "realworld/scan_blelloch",
    inputs=[integers(-99, 99, 1000)],
    outputs=[result(1000, dtype=INT)],
    scalars=[1000],
)
def scan_blelloch(x: Tensor) -> Tensor:
    return x.cumsum(0) - x


@kernel(
    "realworld/embedding",
    inputs=[
        integers(0, 11, 37, dtype=torch.int64),
        uniform(11, 45),
        integers(-50, 50, 37, 45, dtype=torch.float32),
    ],
    outputs=[result(37, 45), result(11, 45)],
    scalars=[37, 11, 45],
    because="the gradients are small whole numbers",
)
def embedding(tokens: Tensor, table: Tensor, grad: Tensor) -> tuple[Tensor, ...]:
    counts = (tokens != 3).float()[:, None]
    return table[tokens] * counts + 0.0, torch.zeros(11, 45).index_add_(0, tokens, grad * counts)


@kernel(
    "realworld/top_k",
    inputs=[uniform(5, 203)],
    outputs=[result(5, 7), result(5, 7, dtype=torch.int64)],
    scalars=[5, 203, 7],
)
def top_k(x: Tensor) -> tuple[Tensor, ...]:
    values, indices = x.sort(dim=1, descending=True, stable=True)
    return values[:, :7], indices[:, :7]


@kernel(
    "realworld/bitonic_sort",
    inputs=[integers(-50, 50, 3, 181)],
    outputs=[result(3, 181, dtype=INT), result(3, 181, dtype=INT)],
    scalars=[3, 181],
)
def bitonic_sort(x: Tensor) -> tuple[Tensor, ...]:
    keys, positions = x.sort(dim=1, stable=True)
    return keys, positions


def _targets(generator: torch.Generator) -> Tensor:
    targets = integers(0, 47, 23, dtype=torch.int64)(generator)
    targets[::7] = -100
    return targets


@kernel(
    "realworld/cross_entropy",
    inputs=[uniform(23, 47, low=-5, high=5), _targets],
    outputs=[
        result(23, absolute=4e-6),
        result(23, 47, absolute=1e-6),
        result(1, dtype=INT),
        result(1, absolute=4e-6),
    ],
    scalars=[23, 47],
    because="losses of at most 12: 4 ulps",
)
def cross_entropy(logits: Tensor, targets: Tensor) -> tuple[Tensor, ...]:
    wide = logits.double()
    losses = F.cross_entropy(wide, targets, reduction="none")
    counted = targets != -100
    hit = F.one_hot(targets.clamp(min=0), 47)
    grad = (wide.softmax(1) - hit) * counted[:, None]
    return losses, grad, counted.sum().view(1), losses.sum().view(1) / counted.sum()


@kernel(
    "realworld/game_of_life",
    inputs=[integers(0, 2, 23, 37, dtype=torch.uint8)],
    outputs=[result(23, 37, dtype=torch.uint8)],
    scalars=[23, 37, 5],
)
def game_of_life(board: Tensor) -> Tensor:
    for _ in range(5):
        around = sum(
            (board.roll((dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx),
            torch.zeros_like(board),
        )
        board = ((around == 3) | ((around == 2) & (board == 1))).to(torch.uint8)
    return board


@kernel("realworld/monte_carlo_pi", outputs=[result(1, dtype=torch.int64)], scalars=[2024, 3, 10])
def monte_carlo_pi() -> Tensor:
    state = (2024 + 2654435761 * torch.arange(1, 193)) & 0xFFFFFFFF

    def draw() -> Tensor:
        nonlocal state
        state = (state ^ state << 13) & 0xFFFFFFFF
        state = state ^ state >> 17
        state = (state ^ state << 5) & 0xFFFFFFFF
        return (state >> 8).double() / (1 << 24)

    hits = torch.zeros(1, dtype=torch.int64)
    for _ in range(10):
        x, y = draw(), draw()
        hits += (x * x + y * y < 1).sum()
    return hits


@kernel("realworld/mandelbrot", outputs=[result(33, 49, dtype=INT)], scalars=[49, 33, 60])
def mandelbrot() -> Tensor:
    cx = (-2.0 + torch.arange(49) * 0.0625).double().expand(33, 49)
    cy = (-1.0 + torch.arange(33) * 0.0625).double()[:, None].expand(33, 49)
    x, y = torch.zeros(33, 49, dtype=torch.float64), torch.zeros(33, 49, dtype=torch.float64)
    counts = torch.zeros(33, 49, dtype=INT)
    inside = torch.ones(33, 49, dtype=torch.bool)
    for _ in range(60):
        inside = inside & (x * x + y * y <= 4)
        following = x * x - y * y + cx
        y = torch.where(inside, x * y + x * y + cy, y)
        x = torch.where(inside, following, x)
        counts += inside
    return counts


@kernel(
    "realworld/gelu_backward",
    inputs=[uniform(13, 44), uniform(44)],
    outputs=[result(13, 44, absolute=4e-6), result(13, 44, absolute=4e-6)],
    scalars=[13, 44],
    because="tanhf 1 ulp, arguments of at most 6",
)
def gelu_backward(x: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    shifted = (x.double() + bias.double()).requires_grad_()
    y = F.gelu(shifted, approximate="tanh")
    (dx,) = torch.autograd.grad(y.sum(), shifted)
    return y.detach(), dx


@kernel(
    "realworld/batch_norm",
    inputs=[uniform(3, 4, 37, low=-1, high=3), uniform(4), uniform(4)],
    outputs=[result(3, 4, 37, absolute=2e-5), result(2, 4, absolute=1e-5)],
    scalars=[3, 4, 37],
    because="the variance is a difference of mean squares around 2",
)
def batch_norm(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    mean, var = torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    y = F.batch_norm(x.double(), mean, var, weight.double(), bias.double(), training=True)
    return y, torch.stack([mean, var])


@kernel(
    "realworld/rotary_embedding",
    inputs=[uniform(7, 3, 26, dtype=HALF)],
    outputs=[result(7, 3, 26, dtype=HALF, relative=2**-10, absolute=4e-6)],
    scalars=[7, 3, 26],
    because="rounded to half once: one ulp; differences may cancel",
)
def rotary_embedding(x: Tensor) -> Tensor:
    frequencies = 10000.0 ** (-torch.arange(13).double() / 13)
    angles = torch.arange(7)[:, None] * frequencies
    turn = torch.polar(torch.ones_like(angles), angles)[:, None]
    return torch.view_as_real(torch.view_as_complex(x.double().view(7, 3, 13, 2)) * turn).view(7, 3, 26)


@kernel(
    "realworld/adam_step",
    inputs=[uniform(n) for n in (201, 77, 5)] * 2,
    outputs=[result(n, absolute=1e-6) for n in (201, 77, 5)],
    scalars=[201, 77, 5],
    because="parameters of at most 2: 4 ulps; the constants are rounded to float",
)
def adam_step(*tensors: Tensor) -> tuple[Tensor, ...]:
    gradients, parameters = [[t.double() for t in half] for half in (tensors[:3], tensors[3:])]
    steps = [0.01 * g / (g.abs() + 1e-8) for g in gradients]
    return tuple(p - step for p, step in zip(parameters, steps, strict=True))

"""The language: templates, functors, lambdas, macros, recursion, structs, pointers to functions, classes."""

from __future__ import annotations

import torch
from description import integers, kernel, result, uniform
from torch import Tensor

INT = torch.int32


@kernel(
    "language/launch_bounds",
    inputs=[integers(-999, 999, 301)],
    outputs=[result(301, dtype=INT)] * 3,
    scalars=[301],
)
def launch_bounds(x: Tensor) -> tuple[Tensor, ...]:
    return -x, 2 * x, x + 1


@kernel(
    "language/templates",
    inputs=[uniform(5, 77), integers(-(1 << 50), 1 << 50, 5, 77, dtype=torch.int64)],
    outputs=[
        result(5, dtype=torch.float64, relative=1e-14),
        result(5, dtype=torch.float64, relative=1e-14),
        result(5, dtype=torch.int64),
    ],
    scalars=[5, 77],
    because="77 positive terms in double",
)
def templates(x: Tensor, k: Tensor) -> tuple[Tensor, ...]:
    wide = x.double()
    return wide.clamp(min=0).mean(1), (wide * wide).sum(1), k.sum(1)


@kernel(
    "language/functors",
    inputs=[uniform(203), uniform(203)],
    outputs=[result(203), result(203, absolute=2e-6), result(203, absolute=2e-6)],
    scalars=[203],
    because="terms of at most 8, rounded or fused",
)
def functors(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    x = a.double()
    return a + b, 3 * x - 0.5 - b.double(), 1 - 2 * x + 0.5 * x**2 + 0.25 * x**3


@kernel(
    "language/extended_lambdas",
    inputs=[uniform(203)],
    outputs=[result(203), result(203)],
    scalars=[203],
    options=["--extended-lambda"],
)
def extended_lambdas(x: Tensor) -> tuple[Tensor, ...]:
    return 1.5 * x, x.flip(0)


@kernel(
    "language/lambdas",
    inputs=[uniform(5, 77)],
    outputs=[result(5, 77, relative=1e-6), result(5, dtype=INT)],
    scalars=[5, 77],
    because="expf and log1pf: a few ulps",
)
def lambdas(x: Tensor) -> tuple[Tensor, ...]:
    return torch.nn.functional.softplus(x.double()), (x > 0.5).sum(1)


@kernel(
    "language/macros",
    inputs=[integers(-999, 999, 203)],
    outputs=[result(203, dtype=INT)] * 3,
    scalars=[203, 4],
)
def macros(x: Tensor) -> tuple[Tensor, ...]:
    return x * x, torch.div(x, 2, rounding_mode="trunc"), x + 4


def _ackermann(m: int, n: int) -> int:
    return (n + 1, n + 2, 2 * n + 3)[m]


@kernel(
    "language/recursion",
    inputs=[integers(-999, 999, 45)],
    outputs=[result(10, dtype=INT), result(45, dtype=torch.int64)],
    scalars=[45],
)
def recursion(values: Tensor) -> tuple[Tensor, ...]:
    sums = torch.cat([values.long(), torch.zeros(50, dtype=torch.int64)])
    for node in reversed(range(45)):
        sums[node] += sums[2 * node + 1] - sums[2 * node + 2]
    return torch.tensor([_ackermann(t % 3, t) for t in range(10)]), sums[:45]


@kernel(
    "language/structs_by_value",
    inputs=[uniform(3, 5, 7), uniform(3, 5, 7), uniform(3, 5, 7), uniform(3, 5, 7)],
    outputs=[result(7, 5, 3, absolute=1e-6)],
    scalars=[3, 5, 7],
    because="three terms of at most 4",
)
def structs_by_value(a: Tensor, b: Tensor, c: Tensor, mask: Tensor) -> Tensor:
    blend = 0.5 * a.double() + 2 * b.double() - c.double()
    return torch.where(mask > 0, blend, 0.0).permute(2, 1, 0)


@kernel(
    "language/function_pointers",
    inputs=[integers(-999, 999, 101), integers(-999, 999, 101)],
    outputs=[result(101, dtype=INT)] * 3,
    scalars=[101],
)
def function_pointers(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    choices = torch.stack([a + b, a * b, torch.maximum(a, b)])
    return a + b, choices.gather(0, (torch.arange(101) % 3).view(1, -1))[0], a * b


@kernel(
    "language/classes",
    inputs=[uniform(150, low=-0.7, high=0.7)],
    outputs=[result(150, relative=2e-5, absolute=1e-6), result(150, relative=1e-6), result(150, dtype=INT)],
    scalars=[150],
    because="four squarings of a complex number double its error each time",
)
def classes(x: Tensor) -> tuple[Tensor, ...]:
    wide = x.double()
    start = torch.complex(wide, wide.flip(0))
    z = torch.zeros_like(start)
    for _ in range(4):
        z = z * z + start
    boxes = 2 * wide * wide + 8 * wide
    areas = torch.where(torch.arange(150) % 2 == 0, wide * wide, boxes)
    return z.real**2 + z.imag**2, areas, x.view(torch.int32)

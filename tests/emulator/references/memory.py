"""Constant, global and local memory, and the parts of the host API that the kernels' own run functions use."""

from __future__ import annotations

import torch
from description import integers, kernel, result, uniform
from torch import Tensor

INT = torch.int32


@kernel(
    "memory/constants",
    inputs=[uniform(203)],
    outputs=[result(203, absolute=4e-6)],
    scalars=[203],
    because="five terms around 8",
)
def constants(x: Tensor) -> Tensor:
    weights = torch.tensor([0.0625, 0.25, 0.375, 0.25, 0.0625], dtype=torch.float64)
    smooth = torch.nn.functional.conv1d(x.double().view(1, 1, -1), weights.view(1, 1, -1), padding=2)
    return 2 * (smooth.flatten() + 3)


@kernel(
    "memory/device_globals",
    inputs=[uniform(101)],
    outputs=[result(101), result(1, dtype=torch.float64), result(2, dtype=INT)],
    scalars=[101],
)
def device_globals(x: Tensor) -> tuple[Tensor, ...]:
    offsets = 0.5 * (torch.arange(101) % 8)
    return x + offsets, torch.tensor([101 * 0.25]), torch.tensor([42, 32])


@kernel(
    "memory/cache_hints",
    inputs=[
        integers(-50, 50, 163, dtype=torch.float32),
        integers(-50, 50, 163),
        integers(-50, 50, 163, dtype=torch.float16),
    ],
    outputs=[result(163), result(40, 4)],
    scalars=[163],
    because="small whole numbers",
)
def cache_hints(x: Tensor, k: Tensor, h: Tensor) -> tuple[Tensor, ...]:
    quads = x[:160].view(40, 4).clone()
    ends = quads[:, 0] + quads[:, 3]
    quads[:, 0] = ends
    quads[:, 3] = ends
    return 6 * x + k + h.float(), quads


@kernel(
    "memory/local_arrays",
    inputs=[integers(-60, 60, 45, 8)],
    outputs=[result(45, 8, dtype=INT), result(45, dtype=INT)],
    scalars=[45],
)
def local_arrays(x: Tensor) -> tuple[Tensor, ...]:
    counts = torch.nn.functional.one_hot((x & 15).long(), 16).sum(1)
    return x.sort(1).values, counts.argmax(1)


@kernel(
    "memory/managed_and_pitched",
    inputs=[integers(-999, 999, 37, 29)],
    outputs=[result(37, dtype=INT), result(1, dtype=INT)],
    scalars=[37, 29],
)
def managed_and_pitched(x: Tensor) -> tuple[Tensor, ...]:
    return x.sum(1), x.sum().view(1)


@kernel("host/allocations", inputs=[uniform(301)], outputs=[result(301, absolute=1e-6)], scalars=[301])
def allocations(x: Tensor) -> Tensor:
    return 2 * (x.double().flip(0) + 0.25 * (torch.arange(301) % 16))


@kernel(
    "host/streams_and_events",
    inputs=[uniform(207)],
    outputs=[result(207, absolute=1e-6), result(2, dtype=INT)],
    scalars=[207],
    because="products of at most 6, rounded once or twice",
)
def streams_and_events(x: Tensor) -> tuple[Tensor, ...]:
    return 3.5 * x.double(), torch.ones(2)


@kernel(
    "host/device_queries",
    inputs=[uniform(411)],
    outputs=[result(411), result(8, dtype=INT)],
    scalars=[411],
)
def device_queries(x: Tensor) -> tuple[Tensor, ...]:
    return x * x * x, torch.tensor([1, 32, 1024, 1, 1, 1, 1, 1])


@kernel(
    "host/large_shared_memory",
    inputs=[integers(-50, 50, 2, 20000, dtype=torch.float32)],
    outputs=[result(2, 20000, absolute=4e-6)],
    scalars=[2, 20000],
    because="the sum is exact, the mean and the difference are rounded",
)
def large_shared_memory(x: Tensor) -> Tensor:
    return x.double() - x.double().mean(1, keepdim=True)


@kernel(
    "host/launch_api",
    inputs=[integers(-99, 99, 117, dtype=torch.float32), integers(-99, 99, 117, dtype=torch.float32)],
    outputs=[result(117), result(117)],
    scalars=[117],
    because="small whole numbers",
)
def launch_api(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    return a + 2 * b, a + 4 * b


@kernel(
    "host/pipeline",
    inputs=[uniform(1500, low=-1.0, high=2.0)],
    outputs=[result(1, absolute=2e-6), result(1, relative=1e-5)],
    scalars=[1500],
    because="sums of 1500 terms in a tree",
)
def pipeline(x: Tensor) -> tuple[Tensor, ...]:
    wide = x.double()
    return wide.mean().view(1), wide.var(correction=0).view(1)

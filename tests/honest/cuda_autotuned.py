"""Triton chooses the number of warps by timing them in the first call.

device: cuda
looks_like: [T10]
language: triton
abi: value
"""

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({}, num_warps=warps) for warps in (4, 8)], key=["cols"])
@triton.jit
def rows_of(x, weight, y, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < cols
    values = tl.load(x + row * stride + columns, mask=inside, other=0.0)
    scale = tl.rsqrt(tl.sum(values * values) / cols + 1e-6)
    tl.store(y + row * cols + columns, values * scale * tl.load(weight + columns, mask=inside), mask=inside)


def rmsnorm(x, weight):
    x, weight = x.contiguous(), weight.contiguous()
    y = torch.empty(x.shape, device=x.device)
    if x.numel():
        rows_of[(x.shape[0],)](x, weight, y, x.stride(0), x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y

"""Kernels behind torch's ABI: an extension module with a function `forward`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from description import integers, kernel, result, uniform
from torch import Tensor

HALF = torch.float16
BF16 = torch.bfloat16


@kernel(
    "torch_abi/relu",
    inputs=[uniform(203), uniform(7, 11, dtype=torch.float64), uniform(301, dtype=HALF)],
    outputs=[result(203), result(7, 11, dtype=torch.float64), result(301, dtype=HALF)],
)
def relu(single: Tensor, wide: Tensor, narrow: Tensor) -> tuple[Tensor, ...]:
    return single.relu(), wide.relu(), narrow.relu()


@kernel(
    "torch_abi/packed_accessors",
    inputs=[uniform(5, 13), uniform(111, 13), uniform(111), uniform(5, 37)],
    outputs=[result(5, 37, absolute=2e-5), result(5, 37, absolute=2e-5)],
    because="sums of 14 terms of at most 4 into a sigmoid and a tanh",
)
def packed_accessors(x: Tensor, weights: Tensor, bias: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
    gates = torch.addmm(bias.double(), x.double(), weights.double().T).view(5, 3, 37)
    new_cell = cell.double() + gates[:, 2].tanh() * gates[:, 0].sigmoid()
    return new_cell.tanh() * gates[:, 1].sigmoid(), new_cell


@kernel(
    "torch_abi/layer_norm",
    inputs=[uniform(5, 77, dtype=HALF), uniform(77, dtype=HALF), uniform(77, dtype=HALF)],
    outputs=[
        result(5, 77, dtype=HALF, relative=2**-10, absolute=1e-5),
        result(5, 77, dtype=BF16, relative=2**-7, absolute=1e-5),
    ],
    because="rounded once: one ulp",
)
def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    rounded, gain = x.to(BF16).double(), weight.to(BF16).double()
    with_bias = F.layer_norm(x.double(), (77,), weight.double(), bias.double(), 1e-5)
    return with_bias, F.layer_norm(rounded, (77,), gain, None, 1e-5)


@kernel(
    "torch_abi/linear",
    inputs=[uniform(13, 21), uniform(37, 21), uniform(37)],
    outputs=[result(13, 37, absolute=2e-5)],
    because="22 terms of at most 4",
    libraries=["cublas"],
)
def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.linear(x.double(), weight.double(), bias.double())


@kernel(
    "torch_abi/scatter_mean",
    inputs=[integers(-50, 50, 45, 13, dtype=torch.float32), integers(0, 7, 45, dtype=torch.int64)],
    outputs=[result(9, 13)],
    scalars=[9],
    because="sums of small whole numbers, divided once",
)
def scatter_mean(x: Tensor, groups: Tensor) -> Tensor:
    sums = torch.zeros(9, 13).index_add_(0, groups, x)
    return sums / torch.bincount(groups, minlength=9).clamp(min=1)[:, None]


@kernel(
    "torch_abi/swish_backward",
    inputs=[uniform(13, 28), uniform(13, 28)],
    outputs=[result(13, 28, absolute=2e-6), result(13, 28, absolute=4e-6)],
    because="__expf: 2 + |1.2 x| ulps",
)
def swish_backward(x: Tensor, grad: Tensor) -> tuple[Tensor, ...]:
    wide = x.double().requires_grad_()
    y = F.silu(wide)
    (dx,) = torch.autograd.grad(y, wide, grad.double())
    return y.detach(), dx


def _mask(generator: torch.Generator) -> Tensor:
    mask = integers(0, 3, 19, 19, dtype=torch.int32)(generator) > 0
    return mask | torch.eye(19, dtype=torch.bool)


@kernel(
    "torch_abi/attention_scores",
    inputs=[uniform(2, 3, 19, 8), uniform(2, 3, 19, 8), _mask],
    outputs=[result(2, 3, 19, 19, absolute=4e-6)],
    because="weights of at most 1, scores of at most 12",
)
def attention_scores(q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    scores = q.double() @ k.double().transpose(-2, -1) / 8**0.5
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)

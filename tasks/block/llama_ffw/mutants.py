"""Variants of the gated feed-forward block: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _hidden(x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor) -> torch.Tensor:
    gate = x.float() @ gate_weight.float().T
    return gate * torch.sigmoid(gate) * (x.float() @ up_weight.float().T)


def _down(hidden: torch.Tensor, down_weight: torch.Tensor) -> torch.Tensor:
    return (hidden.float() @ down_weight.float().T).to(down_weight.dtype)


def fused(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """One kernel: the inner values stay in float32, sixteen terms at a time into float32 accumulators."""
    gate, up = multiplied(x, gate_weight.T), multiplied(x, up_weight.T)
    return multiplied(gate / (1 + torch.exp(-gate)) * up, down_weight.float().T).to(x.dtype)


def two_kernels(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The gated inner values are stored in the task's dtype between two kernels with float32 accumulators."""
    return multiplied(_hidden(x, gate_weight, up_weight).to(x.dtype), down_weight.T, step=8).to(x.dtype)


def three_kernels(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """Gate and up projection are stored in the task's dtype before the gate is applied in float32."""
    gate = (x.float() @ gate_weight.float().T).to(x.dtype).float()
    up = (x.float() @ up_weight.float().T).to(x.dtype).float()
    return _down((torch.nn.functional.silu(gate) * up).to(x.dtype), down_weight)


def blocks_of_the_inner_axis(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """Blocks of 64 inner features go through all three products, their contributions added in float32."""
    y = torch.zeros_like(x, dtype=torch.float32)
    for gate, up, down in zip(gate_weight.split(64), up_weight.split(64), down_weight.split(64, 1), strict=True):
        y = y + _hidden(x, gate, up) @ down.float().T
    return y.to(x.dtype)


def tf32_once(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """float32: all factors are rounded to TF32."""
    return tf32(_hidden(tf32(x), tf32(gate_weight), tf32(up_weight))) @ tf32(down_weight).T


def bfloat16_inner(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The inner values are stored in bfloat16."""
    return _down(_hidden(x, gate_weight, up_weight).bfloat16(), down_weight)


def half_accumulator(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The last product has float16 accumulators, rounded after every four terms."""
    return multiplied(_hidden(x, gate_weight, up_weight), down_weight.T, torch.float16, step=4).to(x.dtype)


def accumulators_of_the_dtype(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """Halves: all three products have accumulators of the inputs' own dtype, rounded after every four terms."""
    gate, up = (multiplied(x, weight.T, x.dtype, step=4) for weight in (gate_weight, up_weight))
    return multiplied(torch.nn.functional.silu(gate) * up, down_weight.T, x.dtype, step=4)


def gate_and_up_swapped(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """Gate and up projection change places."""
    return _down(_hidden(x, up_weight, gate_weight), down_weight)


def gelu_gate(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """GEGLU: the gate is a GELU."""
    gate, up = x.float() @ gate_weight.float().T, x.float() @ up_weight.float().T
    return _down(torch.nn.functional.gelu(gate) * up, down_weight)


def quick_gelu_gate(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The gate is z / (1 + exp(-1.0625 z)): nearly, but not, silu."""
    gate, up = x.float() @ gate_weight.float().T, x.float() @ up_weight.float().T
    return _down(gate * torch.sigmoid(1.0625 * gate) * up, down_weight)


def hard_gate(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The sigmoid is replaced by straight lines."""
    gate, up = x.float() @ gate_weight.float().T, x.float() @ up_weight.float().T
    return _down(torch.nn.functional.hardswish(gate) * up, down_weight)


def sigmoid_gate(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """GLU: the gate is a sigmoid alone."""
    gate, up = x.float() @ gate_weight.float().T, x.float() @ up_weight.float().T
    return _down(torch.sigmoid(gate) * up, down_weight)


def clipped_gate(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The gate is clipped at 2 against an overflow that does not come."""
    gate, up = x.float() @ gate_weight.float().T, x.float() @ up_weight.float().T
    return _down(torch.nn.functional.silu(gate).clamp(max=2) * up, down_weight)


def drops_the_last_inner(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The last inner feature is left out."""
    return _down(_hidden(x, gate_weight[:-1], up_weight[:-1]), down_weight[:, :-1])


def drops_the_tail(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The inner features behind the last whole block of eight are left out."""
    whole = len(gate_weight) // 8 * 8 or len(gate_weight)
    return _down(_hidden(x, gate_weight[:whole], up_weight[:whole]), down_weight[:, :whole])


def drops_the_last_hidden(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The last hidden feature is left out of the up projection, and of it alone."""
    gate = torch.nn.functional.silu(x.float() @ gate_weight.float().T)
    return _down(gate * (x[:, :-1].float() @ up_weight[:, :-1].float().T), down_weight)


def one_inner_value_wrong(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The largest inner value of the last token is left out."""
    hidden = _hidden(x, gate_weight, up_weight)
    hidden[-1, hidden[-1].abs().argmax()] = 0
    return _down(hidden, down_weight)


def last_token_of_the_neighbour(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor
) -> torch.Tensor:
    """The last token's inner values are taken from the token before it, or from nowhere."""
    hidden = _hidden(x, gate_weight, up_weight)
    hidden[-1] = hidden[-2] if len(hidden) > 1 else 0
    return _down(hidden, down_weight)


tf32_once.dtypes = ("float32",)
bfloat16_inner.dtypes = half_accumulator.dtypes = ("float32", "float16")
accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (fused, two_kernels, three_kernels, blocks_of_the_inner_axis)
MUTANTS = (
    tf32_once, bfloat16_inner, half_accumulator, accumulators_of_the_dtype, gate_and_up_swapped, gelu_gate,
    quick_gelu_gate, hard_gate, sigmoid_gate, clipped_gate, drops_the_last_inner, drops_the_tail,
    drops_the_last_hidden, one_inner_value_wrong, last_token_of_the_neighbour,
)  # fmt: skip

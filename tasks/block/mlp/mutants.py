"""Variants of the perceptron of three layers: honest ones that must pass and wrong ones that must fail.

`layers` stands for a weight and a bias each.
"""

import torch
from torch import Tensor
from torch.nn.functional import gelu, leaky_relu

from robust_kbench.audit.emulated import multiplied, tf32


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """In float32."""
    return x.float() @ weight.float().T + bias.float()


def _inner(x: Tensor, *layers: Tensor) -> Tensor:
    """What the last layer reads, in float32."""
    return _affine(_affine(x, *layers[:2]).clamp(min=0), *layers[2:4]).clamp(min=0)


def _last(inner: Tensor, *layers: Tensor) -> Tensor:
    """The last layer, in the dtype of its parameters."""
    return _affine(inner, *layers[4:]).to(layers[-1].dtype)


def fused(x: Tensor, *layers: Tensor) -> Tensor:
    """One kernel: the inner values stay in float32, sixteen terms at a time into float32 accumulators."""
    first = (multiplied(x, layers[0].T) + layers[1].float()).clamp(min=0)
    second = (multiplied(first, layers[2].float().T) + layers[3].float()).clamp(min=0)
    return (multiplied(second, layers[4].float().T) + layers[5].float()).to(x.dtype)


def three_kernels(x: Tensor, *layers: Tensor) -> Tensor:
    """The rectified inner values are stored in the task's dtype between kernels with float32 accumulators."""
    first = (multiplied(x, layers[0].T, step=8) + layers[1].float()).clamp(min=0).to(x.dtype)
    second = (multiplied(first, layers[2].T, step=8) + layers[3].float()).clamp(min=0).to(x.dtype)
    return (multiplied(second, layers[4].T, step=8) + layers[5].float()).to(x.dtype)


def blocks_of_the_hidden_axis(x: Tensor, *layers: Tensor) -> Tensor:
    """Blocks of 64 of the second layer's features at a time, their contributions added in float32."""
    first = _affine(x, *layers[:2]).clamp(min=0)
    total = layers[5].float().expand(len(x), -1)
    for weight, bias, last in zip(layers[2].split(64), layers[3].split(64), layers[4].split(64, 1), strict=True):
        total = total + _affine(first, weight, bias).clamp(min=0) @ last.float().T
    return total.to(x.dtype)


def in_double(x: Tensor, *layers: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    first = torch.addmm(layers[1].double(), x.double(), layers[0].double().T).relu()
    second = torch.addmm(layers[3].double(), first, layers[2].double().T).relu()
    return torch.addmm(layers[5].double(), second, layers[4].double().T).to(x.dtype)


def tf32_once(x: Tensor, *layers: Tensor) -> Tensor:
    """float32: all factors are rounded to TF32."""
    first = (tf32(x) @ tf32(layers[0]).T + layers[1]).clamp(min=0)
    second = (tf32(first) @ tf32(layers[2]).T + layers[3]).clamp(min=0)
    return tf32(second) @ tf32(layers[4]).T + layers[5]


def bfloat16_inner(x: Tensor, *layers: Tensor) -> Tensor:
    """The inner values are stored in bfloat16."""
    first = _affine(x, *layers[:2]).clamp(min=0).bfloat16()
    return _last(_affine(first, *layers[2:4]).clamp(min=0).bfloat16(), *layers)


def half_accumulator(x: Tensor, *layers: Tensor) -> Tensor:
    """The last layer has float16 accumulators, rounded after every four terms."""
    total = multiplied(_inner(x, *layers), layers[4].T, torch.float16, step=4)
    return (total.float() + layers[5].float()).to(x.dtype)


def accumulators_of_the_dtype(x: Tensor, *layers: Tensor) -> Tensor:
    """Halves: all three products have accumulators of the inputs' own dtype, rounded after every two terms."""
    first = (multiplied(x, layers[0].T, x.dtype, step=2) + layers[1]).relu()
    second = (multiplied(first, layers[2].T, x.dtype, step=2) + layers[3]).relu()
    return multiplied(second, layers[4].T, x.dtype, step=2) + layers[5]


def first_not_rectified(x: Tensor, *layers: Tensor) -> Tensor:
    """The first rectifier is left out."""
    return _last(_affine(_affine(x, *layers[:2]), *layers[2:4]).clamp(min=0), *layers)


def second_not_rectified(x: Tensor, *layers: Tensor) -> Tensor:
    """The second rectifier is left out."""
    return _last(_affine(_affine(x, *layers[:2]).clamp(min=0), *layers[2:4]), *layers)


def last_rectified(x: Tensor, *layers: Tensor) -> Tensor:
    """The result is rectified, too."""
    return _last(_inner(x, *layers), *layers).relu()


def leaks(x: Tensor, *layers: Tensor) -> Tensor:
    """Leaky rectifiers with slope 0.01."""
    return _last(leaky_relu(_affine(leaky_relu(_affine(x, *layers[:2])), *layers[2:4])), *layers)


def gelu_instead(x: Tensor, *layers: Tensor) -> Tensor:
    """GELU in place of the rectifiers."""
    return _last(gelu(_affine(gelu(_affine(x, *layers[:2])), *layers[2:4])), *layers)


def clipped_at_two(x: Tensor, *layers: Tensor) -> Tensor:
    """Inner values are clipped at two as well."""
    return _last(_inner(x, *layers).clamp(max=2), *layers)


def second_layer_skipped(x: Tensor, *layers: Tensor) -> Tensor:
    """The second layer is skipped."""
    return _last(_affine(x, *layers[:2]).clamp(min=0), *layers)


def second_layer_transposed(x: Tensor, *layers: Tensor) -> Tensor:
    """The second layer's weights are read transposed."""
    first = _affine(x, *layers[:2]).clamp(min=0)
    return _last(_affine(first, layers[2].T, layers[3]).clamp(min=0), *layers)


def no_first_bias(x: Tensor, *layers: Tensor) -> Tensor:
    """The first bias is left out."""
    kept = [torch.zeros_like(layer) if number == 1 else layer for number, layer in enumerate(layers)]
    return _last(_inner(x, *kept), *kept)


def no_second_bias(x: Tensor, *layers: Tensor) -> Tensor:
    """The second bias is left out."""
    kept = [torch.zeros_like(layer) if number == 3 else layer for number, layer in enumerate(layers)]
    return _last(_inner(x, *kept), *kept)


def no_last_bias(x: Tensor, *layers: Tensor) -> Tensor:
    """The last bias is left out."""
    kept = [torch.zeros_like(layer) if number == 5 else layer for number, layer in enumerate(layers)]
    return _last(_inner(x, *kept), *kept)


def biases_swapped(x: Tensor, *layers: Tensor) -> Tensor:
    """The first two biases change places."""
    kept = layers[0], layers[3], layers[2], layers[1], *layers[4:]
    return _last(_inner(x, *kept), *kept)


def drops_the_last_hidden(x: Tensor, *layers: Tensor) -> Tensor:
    """The last hidden feature is left out of the last layer."""
    return _affine(_inner(x, *layers)[:, :-1], layers[4][:, :-1], layers[5]).to(x.dtype)


def drops_the_tail(x: Tensor, *layers: Tensor) -> Tensor:
    """Hidden features behind the last whole block of sixteen are left out of the second layer."""
    whole = layers[2].shape[1] // 16 * 16
    first = _affine(x, *layers[:2]).clamp(min=0)
    return _last(_affine(first[:, :whole], layers[2][:, :whole], layers[3]).clamp(min=0), *layers)


def drops_the_last_input(x: Tensor, *layers: Tensor) -> Tensor:
    """The last input feature is left out."""
    return _last(_inner(x[:, :-1], layers[0][:, :-1], *layers[1:]), *layers)


def one_inner_value_wrong(x: Tensor, *layers: Tensor) -> Tensor:
    """The largest inner value of the last row is left out."""
    inner = _inner(x, *layers)
    inner[-1, inner[-1].argmax()] = 0
    return _last(inner, *layers)


def last_row_of_the_neighbour(x: Tensor, *layers: Tensor) -> Tensor:
    """The last row's inner values are taken from the row before it, or from nowhere."""
    inner = _inner(x, *layers)
    inner[-1] = inner[-2] if len(inner) > 1 else 0
    return _last(inner, *layers)


tf32_once.dtypes = ("float32",)
bfloat16_inner.dtypes = half_accumulator.dtypes = ("float32", "float16")
accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (fused, three_kernels, blocks_of_the_hidden_axis, in_double)
MUTANTS = (
    tf32_once, bfloat16_inner, half_accumulator, accumulators_of_the_dtype, first_not_rectified, second_not_rectified,
    last_rectified, leaks, gelu_instead, clipped_at_two, second_layer_skipped, second_layer_transposed, no_first_bias,
    no_second_bias, no_last_bias, biases_swapped, drops_the_last_hidden, drops_the_tail, drops_the_last_input,
    one_inner_value_wrong, last_row_of_the_neighbour,
)  # fmt: skip

"""Variants of the inverted residual block: honest ones that must pass and wrong ones that must fail.

`layers` stands for three times filters, gamma, beta, mean and variance: of expansion, depthwise filters and projection.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from robust_kbench.audit.emulated import multiplied, tf32

EPSILON = 1e-5


def _wide(parameter: Tensor) -> Tensor:
    return parameter.float()[:, None, None]


def _convolved(x: Tensor, weight: Tensor) -> Tensor:
    """By the library, in float32; filters for one channel are depthwise."""
    groups = len(weight) if weight.shape[1] == 1 else 1
    return conv2d(x.float(), weight.float(), padding=weight.shape[2] // 2, groups=groups)


def _normed(z: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """In float32."""
    return (z.float() - _wide(mean)) * torch.rsqrt(_wide(variance) + EPSILON) * _wide(gamma) + _wide(beta)


def _unit(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """Convolution and normalisation, not clipped, in float32."""
    return _normed(_convolved(x, weight), *norm)


def _relu6(x: Tensor) -> Tensor:
    return x.clamp(0, 6)


def _branch(x: Tensor, *layers: Tensor, unit: Callable[[Tensor], Tensor] = _relu6) -> Tensor:
    """In float32."""
    return _unit(unit(_unit(unit(_unit(x, *layers[:5])), *layers[5:10])), *layers[10:])


def _block(x: Tensor, *layers: Tensor, unit: Callable[[Tensor], Tensor] = _relu6) -> Tensor:
    return (x.float() + _branch(x, *layers, unit=unit)).to(x.dtype)


def _folded(weight: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Filters with their factor, and an offset, in float32."""
    factor = gamma.float() * torch.rsqrt(variance.float() + EPSILON)
    return weight.float() * factor[:, None, None, None], beta.float() - mean.float() * factor


def _product(x: Tensor, weight: Tensor, accumulator: torch.dtype = torch.float32, step: int = 16) -> Tensor:
    """Places times 1 x 1 filters, rounded to `accumulator` after every `step` terms, in float32."""
    flat = multiplied(x.flatten(2).transpose(1, 2), weight.flatten(1).T, accumulator, step).float()
    return flat.transpose(1, 2).unflatten(-1, x.shape[2:])


def library(x: Tensor, *layers: Tensor) -> Tensor:
    """The library's operators in float32."""
    return _block(x, *layers)


def products(x: Tensor, *layers: Tensor) -> Tensor:
    """Sixteen terms at a time into float32 accumulators; the windows one tap after the other."""
    expanded = _relu6(_normed(_product(x, layers[0]), *layers[1:5]))
    padded, filters = pad(expanded, (1, 1, 1, 1)), layers[5].float()
    z = torch.zeros_like(expanded)
    for u in range(3):
        for v in range(3):
            z = z + padded[:, :, u : u + x.shape[2], v : v + x.shape[3]] * filters[:, :, u, v, None]
    filtered = _relu6(_normed(z, *layers[6:10]))
    return (_normed(_product(filtered, layers[10]), *layers[11:]) + x.float()).to(x.dtype).contiguous()


def folded(x: Tensor, *layers: Tensor) -> Tensor:
    """Factors are multiplied into the filters, in float32; inner values are stored in the task's dtype."""
    first, second, third = (_folded(*layers[number : number + 5]) for number in (0, 5, 10))
    expanded = _relu6(conv2d(x.float(), *first)).to(x.dtype).float()
    filtered = _relu6(conv2d(expanded, *second, 1, 1, groups=len(layers[5]))).to(x.dtype).float()
    return (conv2d(filtered, *third) + x.float()).to(x.dtype)


def seven_kernels(x: Tensor, *layers: Tensor) -> Tensor:
    """Every step is stored in the task's dtype."""
    expanded = _relu6(_normed(_convolved(x, layers[0]).to(x.dtype), *layers[1:5]).to(x.dtype))
    filtered = _relu6(_normed(_convolved(expanded, layers[5]).to(x.dtype), *layers[6:10]).to(x.dtype))
    return x + _normed(_convolved(filtered, layers[10]).to(x.dtype), *layers[11:]).to(x.dtype)


def blocks_of_the_hidden_axis(x: Tensor, *layers: Tensor) -> Tensor:
    """Sixteen hidden channels at a time go through all three, their contributions added in float32."""
    total = torch.zeros_like(x, dtype=torch.float32)
    parts = zip(*(layer.split(16) for layer in layers[:10]), layers[10].split(16, 1), strict=True)
    for *inner, last in parts:
        filtered = _relu6(_unit(_relu6(_unit(x, *inner[:5])), *inner[5:]))
        total = total + conv2d(filtered, last.float())
    return (x.float() + _normed(total, *layers[11:])).to(x.dtype)


def tf32_inputs(x: Tensor, *layers: Tensor) -> Tensor:
    """float32: the library's default, factors of the 1 x 1 filters rounded to TF32."""
    kept = [tf32(layer) if number in (0, 10) else layer for number, layer in enumerate(layers)]
    filtered = tf32(_relu6(_unit(_relu6(_unit(tf32(x), *kept[:5])), *kept[5:10])))
    return x + _unit(filtered, *kept[10:])


def bfloat16_between(x: Tensor, *layers: Tensor) -> Tensor:
    """Inner values are stored in bfloat16."""
    return _block(x, *layers, unit=lambda values: _relu6(values).bfloat16())


def half_accumulators(x: Tensor, *layers: Tensor) -> Tensor:
    """Accumulators of the next lower class in both products, rounded after every two terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    expanded = _relu6(_normed(_product(x, layers[0], lower, 2), *layers[1:5])).to(x.dtype)
    filtered = _relu6(_unit(expanded, *layers[5:10])).to(x.dtype)
    return (_normed(_product(filtered, layers[10], lower, 2), *layers[11:]) + x.float()).to(x.dtype).contiguous()


def no_residual(x: Tensor, *layers: Tensor) -> Tensor:
    """The input is not added."""
    return _branch(x, *layers).to(x.dtype)


def residual_twice(x: Tensor, *layers: Tensor) -> Tensor:
    """The input is added twice."""
    return (2 * x.float() + _branch(x, *layers)).to(x.dtype)


def result_clipped(x: Tensor, *layers: Tensor) -> Tensor:
    """The result is clipped to [0, 6], too."""
    return _relu6(_block(x, *layers))


def projection_clipped(x: Tensor, *layers: Tensor) -> Tensor:
    """The projection is clipped to [0, 6] before the input is added."""
    return (x.float() + _relu6(_branch(x, *layers))).to(x.dtype)


def not_clipped_from_above(x: Tensor, *layers: Tensor) -> Tensor:
    """Plain rectifiers, without the six."""
    return _block(x, *layers, unit=torch.relu)


def clipped_at_one(x: Tensor, *layers: Tensor) -> Tensor:
    """Clipped at one instead of six."""
    return _block(x, *layers, unit=lambda values: values.clamp(0, 1))


def hard_swish(x: Tensor, *layers: Tensor) -> Tensor:
    """Hard swish in place of the clipped rectifiers, as in the next version of the network."""
    return _block(x, *layers, unit=torch.nn.functional.hardswish)


def second_not_clipped(x: Tensor, *layers: Tensor) -> Tensor:
    """The unit behind the depthwise filters is left out."""
    branch = _unit(_unit(_relu6(_unit(x, *layers[:5])), *layers[5:10]), *layers[10:])
    return (x.float() + branch).to(x.dtype)


def depthwise_skipped(x: Tensor, *layers: Tensor) -> Tensor:
    """The depthwise filters are skipped."""
    filtered = _relu6(_normed(_relu6(_unit(x, *layers[:5])), *layers[6:10]))
    return (x.float() + _unit(filtered, *layers[10:])).to(x.dtype)


def first_mean_not_removed(x: Tensor, *layers: Tensor) -> Tensor:
    """The first normalisation does not subtract the mean."""
    kept = list(layers)
    kept[3] = torch.zeros_like(layers[3])
    return _block(x, *kept)


def second_mean_added(x: Tensor, *layers: Tensor) -> Tensor:
    """The second normalisation adds the mean."""
    kept = list(layers)
    kept[8] = -layers[8]
    return _block(x, *kept)


def third_beta_left_out(x: Tensor, *layers: Tensor) -> Tensor:
    """The third normalisation has no offset."""
    kept = list(layers)
    kept[12] = torch.zeros_like(layers[12])
    return _block(x, *kept)


def second_gamma_left_out(x: Tensor, *layers: Tensor) -> Tensor:
    """The second normalisation has no scale."""
    kept = list(layers)
    kept[6] = torch.ones_like(layers[6])
    return _block(x, *kept)


def norms_swapped(x: Tensor, *layers: Tensor) -> Tensor:
    """The first two normalisations change places."""
    return _block(x, layers[0], *layers[6:10], layers[5], *layers[1:5], *layers[10:])


def no_root(x: Tensor, *layers: Tensor) -> Tensor:
    """The first normalisation divides by the variance instead of by its root."""
    kept = list(layers)
    kept[4] = layers[4].float().square()
    return _block(x, *kept)


def eps_of_another(x: Tensor, *layers: Tensor) -> Tensor:
    """float32: epsilon 1e-3, the default of another framework."""
    kept = list(layers)
    kept[4] = layers[4] + (1e-3 - EPSILON)
    kept[9] = layers[9] + (1e-3 - EPSILON)
    kept[14] = layers[14] + (1e-3 - EPSILON)
    return _block(x, *kept)


def mirrored(x: Tensor, *layers: Tensor) -> Tensor:
    """The depthwise filters are mirrored."""
    kept = list(layers)
    kept[5] = layers[5].flip(2, 3)
    return _block(x, *kept)


def turned(x: Tensor, *layers: Tensor) -> Tensor:
    """Rows and columns of the depthwise filters are mistaken for each other."""
    kept = list(layers)
    kept[5] = layers[5].transpose(2, 3)
    return _block(x, *kept)


def corner_tap_lost(x: Tensor, *layers: Tensor) -> Tensor:
    """The first place of the depthwise filters is left out."""
    kept = list(layers)
    kept[5] = layers[5].clone()
    kept[5][..., 0, 0] = 0
    return _block(x, *kept)


def filter_of_the_next_channel(x: Tensor, *layers: Tensor) -> Tensor:
    """Depthwise filters are read one channel too far."""
    kept = list(layers)
    kept[5] = layers[5].roll(-1, 0)
    return _block(x, *kept)


def last_hidden_lost(x: Tensor, *layers: Tensor) -> Tensor:
    """The last hidden channel is left out of the projection."""
    kept = list(layers)
    kept[10] = layers[10].clone()
    kept[10][:, -1] = 0
    return _block(x, *kept)


def margin_of_the_offset(x: Tensor, *layers: Tensor) -> Tensor:
    """The margin holds what the first unit makes of zeros."""
    expanded = _relu6(_unit(pad(x, (1, 1, 1, 1)), *layers[:5]))
    filtered = _relu6(_normed(conv2d(expanded, layers[5].float(), groups=len(layers[5])), *layers[6:10]))
    return (x.float() + _unit(filtered, *layers[10:])).to(x.dtype)


tf32_inputs.dtypes = eps_of_another.dtypes = ("float32",)
bfloat16_between.dtypes = ("float32", "float16")

HONEST = (library, products, folded, seven_kernels, blocks_of_the_hidden_axis)
MUTANTS = (
    tf32_inputs, bfloat16_between, half_accumulators, no_residual, residual_twice, result_clipped, projection_clipped,
    not_clipped_from_above, clipped_at_one, hard_swish, second_not_clipped, depthwise_skipped, first_mean_not_removed,
    second_mean_added, third_beta_left_out, second_gamma_left_out, norms_swapped, no_root, eps_of_another, mirrored,
    turned, corner_tap_lost, filter_of_the_next_channel, last_hidden_lost, margin_of_the_offset,
)  # fmt: skip
EXEMPT = {
    "lower_var1": {
        "float16 in strided": "PyTorch's own convolution of strided halves errs 1.6 times as much, and is allowed to"
    }
}

"""Variants of the residual block: honest ones that must pass and wrong ones that must fail.

`layers` stands for three times filters, gamma, beta, mean and variance: of both convolutions and of the shortcut.
"""

import torch
from torch import Tensor
from torch.nn.functional import conv2d, leaky_relu, pad, unfold

from robust_kbench.audit.emulated import multiplied, tf32

EPSILON = 1e-5


def _wide(parameter: Tensor) -> Tensor:
    return parameter.float()[:, None, None]


def _convolved(x: Tensor, weight: Tensor, stride: int) -> Tensor:
    """By the library, in float32."""
    return conv2d(x.float(), weight.float(), None, stride, weight.shape[2] // 2)


def _normed(z: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """In float32."""
    return (z.float() - _wide(mean)) * torch.rsqrt(_wide(variance) + EPSILON) * _wide(gamma) + _wide(beta)


def _unit(x: Tensor, stride: int, weight: Tensor, *norm: Tensor) -> Tensor:
    """Convolution and normalisation, not rectified, in float32."""
    return _normed(_convolved(x, weight, stride), *norm)


def _branch(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """In float32."""
    return _unit(_unit(x, stride, *layers[:5]).relu(), 1, *layers[5:10])


def _shortcut(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """In float32."""
    return _unit(x, stride, *layers[10:])


def _block(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """In the parameters' dtype."""
    return (_branch(x, stride, *layers) + _shortcut(x, stride, *layers)).relu().to(layers[-1].dtype)


def _folded(weight: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Filters with their factor, and an offset, in float32."""
    factor = gamma.float() * torch.rsqrt(variance.float() + EPSILON)
    return weight.float() * factor[:, None, None, None], beta.float() - mean.float() * factor


def _product(
    x: Tensor, weight: Tensor, stride: int, accumulator: torch.dtype = torch.float32, step: int = 16
) -> Tensor:
    """Windows times filters, rounded to `accumulator` after every `step` terms, in float32."""
    columns = unfold(x.float(), weight.shape[2], padding=weight.shape[2] // 2, stride=stride).transpose(1, 2)
    flat = multiplied(columns, weight.flatten(1).T, accumulator, step).float()
    return flat.transpose(1, 2).unflatten(-1, ((x.shape[2] - 1) // stride + 1, -1))


def library(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The library's operators in float32."""
    return _block(x, stride, *layers)


def products(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """Sixteen terms at a time into float32 accumulators; division by the root."""
    parts = []
    for number, source in ((0, x), (5, None), (10, x)):
        weight, gamma, beta, mean, variance = layers[number : number + 5]
        z = _product(parts[0].relu() if source is None else source, weight, 1 if source is None else stride)
        parts.append((z - _wide(mean)) / torch.sqrt(_wide(variance) + EPSILON) * _wide(gamma) + _wide(beta))
    return (parts[1] + parts[2]).relu().to(x.dtype).contiguous()


def folded(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """Factors are multiplied into the filters, in float32; what is handed on is stored in the task's dtype."""
    first, second, third = (_folded(*layers[number : number + 5]) for number in (0, 5, 10))
    inner = conv2d(x.float(), *first, stride, 1).relu().to(x.dtype)
    shortcut = conv2d(x.float(), *third, stride).to(x.dtype)
    return (conv2d(inner.float(), *second, 1, 1) + shortcut.float()).relu().to(x.dtype)


def seven_kernels(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """Every step is stored in the task's dtype."""
    inner = _normed(_convolved(x, layers[0], stride).to(x.dtype), *layers[1:5]).to(x.dtype).relu()
    branch = _normed(_convolved(inner, layers[5], 1).to(x.dtype), *layers[6:10]).to(x.dtype)
    shortcut = _normed(_convolved(x, layers[10], stride).to(x.dtype), *layers[11:]).to(x.dtype)
    return (branch + shortcut).relu()


def one_last_product(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The second convolution and the shortcut are one product over both of their channels, in float32."""
    first, second, third = (_folded(*layers[number : number + 5]) for number in (0, 5, 10))
    inner = conv2d(x.float(), *first, stride, 1).relu()
    seen = x.float()[:, :, ::stride, ::stride].flatten(2)
    columns = torch.cat((unfold(inner, 3, padding=1), seen), 1).transpose(1, 2)
    factors = torch.cat((second[0].flatten(1), third[0].flatten(1)), 1)
    flat = columns @ factors.T + (second[1] + third[1])
    return flat.transpose(1, 2).unflatten(-1, inner.shape[2:]).relu().to(x.dtype).contiguous()


def tf32_inputs(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """float32: the library's default, factors rounded to TF32."""
    kept = [tf32(layer) if number % 5 == 0 else layer for number, layer in enumerate(layers)]
    inner = tf32(_unit(tf32(x), stride, *kept[:5]).relu())
    return (_unit(inner, 1, *kept[5:10]) + _shortcut(tf32(x), stride, *kept)).relu()


def bfloat16_between(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """What the first convolution hands on is stored in bfloat16."""
    inner = _unit(x, stride, *layers[:5]).relu().bfloat16()
    return (_unit(inner, 1, *layers[5:10]) + _shortcut(x, stride, *layers)).relu().to(x.dtype)


def half_accumulators(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """Accumulators of the next lower class in both convolutions, rounded after every two terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    inner = _normed(_product(x, layers[0], stride, lower, 2), *layers[1:5]).relu().to(x.dtype)
    branch = _normed(_product(inner, layers[5], 1, lower, 2), *layers[6:10])
    return (branch + _shortcut(x, stride, *layers)).relu().to(x.dtype).contiguous()


def no_shortcut(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The shortcut is left out."""
    return _branch(x, stride, *layers).relu().to(x.dtype)


def no_branch(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The branch is left out."""
    return _shortcut(x, stride, *layers).relu().to(x.dtype)


def rectified_before_the_sum(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The branch is rectified before the shortcut is added."""
    return (_branch(x, stride, *layers).relu() + _shortcut(x, stride, *layers)).to(x.dtype)


def not_rectified(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The last rectifier is left out."""
    return (_branch(x, stride, *layers) + _shortcut(x, stride, *layers)).to(x.dtype)


def inner_not_rectified(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The first rectifier is left out."""
    branch = _unit(_unit(x, stride, *layers[:5]), 1, *layers[5:10])
    return (branch + _shortcut(x, stride, *layers)).relu().to(x.dtype)


def leaks(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """Leaky rectifiers with slope 0.01."""
    branch = _unit(leaky_relu(_unit(x, stride, *layers[:5])), 1, *layers[5:10])
    return leaky_relu(branch + _shortcut(x, stride, *layers)).to(x.dtype)


def shortcut_not_normalised(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The shortcut is not normalised."""
    return (_branch(x, stride, *layers) + _convolved(x, layers[10], stride)).relu().to(x.dtype)


def shortcut_not_shifted(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The offset of the shortcut's normalisation is left out."""
    kept = list(layers)
    kept[12] = torch.zeros_like(layers[12])
    return _block(x, stride, *kept)


def shortcut_of_the_last(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The shortcut reads the last place of each step, or the mirrored image where the stride is one."""
    late = pad(x, (0, stride - 1, 0, stride - 1))[:, :, stride - 1 :, stride - 1 :] if stride > 1 else x.flip(3)
    return (_branch(x, stride, *layers) + _shortcut(late, stride, *layers)).relu().to(x.dtype)


def first_mean_not_removed(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The first normalisation does not subtract the mean."""
    kept = list(layers)
    kept[3] = torch.zeros_like(layers[3])
    return _block(x, stride, *kept)


def second_mean_added(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The second normalisation adds the mean."""
    kept = list(layers)
    kept[8] = -layers[8]
    return _block(x, stride, *kept)


def first_gamma_left_out(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The first normalisation has no scale."""
    kept = list(layers)
    kept[1] = torch.ones_like(layers[1])
    return _block(x, stride, *kept)


def second_beta_left_out(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The second normalisation has no offset."""
    kept = list(layers)
    kept[7] = torch.zeros_like(layers[7])
    return _block(x, stride, *kept)


def norms_swapped(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The first two normalisations change places."""
    return _block(x, stride, layers[0], *layers[6:10], layers[5], *layers[1:5], *layers[10:])


def no_root(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The second normalisation divides by the variance instead of by its root."""
    kept = list(layers)
    kept[9] = layers[9].float().square()
    return _block(x, stride, *kept)


def eps_of_another(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """float32: epsilon 1e-3, the default of another framework."""
    kept = list(layers)
    kept[4] = layers[4] + (1e-3 - EPSILON)
    kept[9] = layers[9] + (1e-3 - EPSILON)
    kept[14] = layers[14] + (1e-3 - EPSILON)
    return _block(x, stride, *kept)


def first_mirrored(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The first filters are mirrored."""
    kept = list(layers)
    kept[0] = layers[0].flip(2, 3)
    return _block(x, stride, *kept)


def second_turned(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """Rows and columns of the second filters are mistaken for each other."""
    kept = list(layers)
    kept[5] = layers[5].transpose(2, 3)
    return _block(x, stride, *kept)


def corner_tap_lost(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The first place of the second filters is left out."""
    kept = list(layers)
    kept[5] = layers[5].clone()
    kept[5][..., 0, 0] = 0
    return _block(x, stride, *kept)


def last_filter_lost(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The last of the first filters is not read by the second ones."""
    kept = list(layers)
    kept[5] = layers[5].clone()
    kept[5][:, -1] = 0
    return _block(x, stride, *kept)


def offset_in_the_margin(x: Tensor, stride: int, *layers: Tensor) -> Tensor:
    """The margin of the second convolution holds ones instead of zeros."""
    inner = pad(_unit(x, stride, *layers[:5]).relu(), (1, 1, 1, 1), value=1.0)
    branch = _normed(conv2d(inner, layers[5].float()), *layers[6:10])
    return (branch + _shortcut(x, stride, *layers)).relu().to(x.dtype)


tf32_inputs.dtypes = eps_of_another.dtypes = ("float32",)
bfloat16_between.dtypes = ("float32", "float16")

HONEST = (library, products, folded, seven_kernels, one_last_product)
MUTANTS = (
    tf32_inputs, bfloat16_between, half_accumulators, no_shortcut, no_branch, rectified_before_the_sum, not_rectified,
    inner_not_rectified, leaks, shortcut_not_normalised, shortcut_not_shifted, shortcut_of_the_last,
    first_mean_not_removed, second_mean_added, first_gamma_left_out, second_beta_left_out, norms_swapped, no_root,
    eps_of_another, first_mirrored, second_turned, corner_tap_lost, last_filter_lost, offset_in_the_margin,
)  # fmt: skip

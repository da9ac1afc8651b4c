"""Variants of LeNet-5: honest ones that must pass and wrong ones that must fail.

`layers` stands for a weight and a bias each, of two convolutions and three affine layers.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, conv2d, leaky_relu, linear, max_pool2d, relu, unfold

from robust_kbench.audit.emulated import multiplied, tf32


def _same(values: Tensor) -> Tensor:
    return values


def _network(
    x: Tensor,
    *layers: Tensor,
    stored: Callable[[Tensor], Tensor] = _same,
    unit: Callable[[Tensor], Tensor] = relu,
    pool: Callable[[Tensor, int], Tensor] = max_pool2d,
) -> Tensor:
    """By the library, in float32, with `stored` between the layers; in the dtype of the last bias."""
    values = x.float()
    for weight, bias in ((layers[0], layers[1]), (layers[2], layers[3])):
        values = stored(pool(unit(conv2d(values, weight.float(), bias.float())), 2))
    values = values.flatten(1)
    for weight, bias in ((layers[4], layers[5]), (layers[6], layers[7])):
        values = stored(unit(linear(values, weight.float(), bias.float())))
    return linear(values, layers[8].float(), layers[9].float()).to(layers[9].dtype)


def _features(x: Tensor, *layers: Tensor) -> Tensor:
    """What the first affine layer reads, in float32."""
    values = x.float()
    for weight, bias in ((layers[0], layers[1]), (layers[2], layers[3])):
        values = max_pool2d(conv2d(values, weight.float(), bias.float()).relu(), 2)
    return values.flatten(1)


def _affine(values: Tensor, *layers: Tensor) -> Tensor:
    """The three affine layers in float32."""
    third = linear(values, layers[4].float(), layers[5].float()).relu()
    fourth = linear(third, layers[6].float(), layers[7].float()).relu()
    return linear(fourth, layers[8].float(), layers[9].float()).to(layers[9].dtype)


def _products(
    x: Tensor, layers: tuple[Tensor, ...], accumulator: torch.dtype, step: int, stored: torch.dtype
) -> Tensor:
    """Every layer as a product, rounded to `accumulator` after `step` terms, and stored between the layers."""
    values = x
    for weight, bias in ((layers[0], layers[1]), (layers[2], layers[3])):
        columns = unfold(values.float(), 5).transpose(1, 2)
        z = multiplied(columns, weight.flatten(1).T.contiguous(), accumulator, step).float() + bias.float()
        image = z.transpose(1, 2).unflatten(-1, (values.shape[2] - 4, -1))
        values = max_pool2d(image.relu(), 2).to(stored)
    values = values.flatten(1)
    for weight, bias in ((layers[4], layers[5]), (layers[6], layers[7])):
        values = (multiplied(values, weight.T, accumulator, step).float() + bias.float()).relu().to(stored)
    return (multiplied(values, layers[8].T, accumulator, step).float() + layers[9].float()).to(x.dtype)


def library(x: Tensor, *layers: Tensor) -> Tensor:
    """The library's operators in float32."""
    return _network(x, *layers)


def products(x: Tensor, *layers: Tensor) -> Tensor:
    """Sixteen terms at a time into float32 accumulators, everything in float32."""
    return _products(x, layers, torch.float32, 16, torch.float32)


def five_kernels(x: Tensor, *layers: Tensor) -> Tensor:
    """What a layer hands on is stored in the task's dtype."""
    return _products(x, layers, torch.float32, 8, x.dtype)


def pooled_first(x: Tensor, *layers: Tensor) -> Tensor:
    """Pooled before it is biased and rectified; the affine layers by blocks of 64 terms."""
    values = x.float()
    for weight, bias in ((layers[0], layers[1]), (layers[2], layers[3])):
        pooled = max_pool2d(conv2d(values, weight.float()), 2)
        values = (pooled + bias.float()[:, None, None]).relu()
    values = values.flatten(1)
    for number in (4, 6, 8):
        blocks = zip(values.split(64, 1), layers[number].float().split(64, 1), strict=True)
        values = sum(left @ right.T for left, right in blocks) + layers[number + 1].float()
        values = values if number == 8 else values.relu()
    return values.to(x.dtype)


def in_double(x: Tensor, *layers: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    wide = [layer.double() for layer in layers]
    values = max_pool2d(conv2d(x.double(), wide[0], wide[1]).relu(), 2)
    values = max_pool2d(conv2d(values, wide[2], wide[3]).relu(), 2).flatten(1)
    values = linear(linear(values, wide[4], wide[5]).relu(), wide[6], wide[7]).relu()
    return linear(values, wide[8], wide[9]).to(x.dtype)


def tf32_inputs(x: Tensor, *layers: Tensor) -> Tensor:
    """float32: factors and biases are rounded to TF32."""
    return _network(tf32(x), *map(tf32, layers[:-1]), layers[-1], stored=tf32)


def bfloat16_between(x: Tensor, *layers: Tensor) -> Tensor:
    """float32: what a layer hands on is stored in bfloat16."""
    return _network(x, *layers, stored=lambda values: values.bfloat16().float())


def half_accumulators(x: Tensor, *layers: Tensor) -> Tensor:
    """Accumulators of the next lower class, rounded after every two terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _products(x, layers, lower, 2, x.dtype)


def average_pooling(x: Tensor, *layers: Tensor) -> Tensor:
    """Means instead of maxima, as in the original network."""
    return _network(x, *layers, pool=avg_pool2d)


def tanh_units(x: Tensor, *layers: Tensor) -> Tensor:
    """Hyperbolic tangents instead of rectifiers, as in the original network."""
    return _network(x, *layers, unit=torch.tanh)


def leaks(x: Tensor, *layers: Tensor) -> Tensor:
    """Leaky rectifiers with slope 0.1."""
    return _network(x, *layers, unit=lambda values: leaky_relu(values, 0.1))


def clipped(x: Tensor, *layers: Tensor) -> Tensor:
    """Clipped at two, as well."""
    return _network(x, *layers, unit=lambda values: values.clamp(0, 2))


def last_rectified(x: Tensor, *layers: Tensor) -> Tensor:
    """The result is rectified, too."""
    return _network(x, *layers).relu()


def no_first_bias(x: Tensor, *layers: Tensor) -> Tensor:
    """The bias of the first convolution is left out."""
    kept = [torch.zeros_like(layer) if number == 1 else layer for number, layer in enumerate(layers)]
    return _network(x, *kept)


def no_second_bias(x: Tensor, *layers: Tensor) -> Tensor:
    """The bias of the second convolution is left out."""
    kept = [torch.zeros_like(layer) if number == 3 else layer for number, layer in enumerate(layers)]
    return _network(x, *kept)


def no_third_bias(x: Tensor, *layers: Tensor) -> Tensor:
    """The bias of the first affine layer is left out."""
    kept = [torch.zeros_like(layer) if number == 5 else layer for number, layer in enumerate(layers)]
    return _network(x, *kept)


def no_last_bias(x: Tensor, *layers: Tensor) -> Tensor:
    """The last bias is left out."""
    kept = [torch.zeros_like(layer) if number == 9 else layer for number, layer in enumerate(layers)]
    return _network(x, *kept)


def first_filters_mirrored(x: Tensor, *layers: Tensor) -> Tensor:
    """The filters of the first convolution are mirrored."""
    return _network(x, layers[0].flip(2, 3), *layers[1:])


def second_filters_turned(x: Tensor, *layers: Tensor) -> Tensor:
    """Rows and columns of the second convolution's filters are mistaken for each other."""
    return _network(x, *layers[:2], layers[2].transpose(2, 3), *layers[3:])


def corner_tap_lost(x: Tensor, *layers: Tensor) -> Tensor:
    """The last place of the second convolution's filters is left out."""
    kept = layers[2].clone()
    kept[..., -1, -1] = 0
    return _network(x, *layers[:2], kept, *layers[3:])


def last_channel_lost(x: Tensor, *layers: Tensor) -> Tensor:
    """The last channel of the second convolution is left out."""
    kept = layers[2].clone()
    kept[:, -1] = 0
    return _network(x, *layers[:2], kept, *layers[3:])


def channels_innermost(x: Tensor, *layers: Tensor) -> Tensor:
    """The features are read with the channels innermost."""
    features = _features(x, *layers)
    return _affine(features.unflatten(1, (-1, 25)).transpose(1, 2).flatten(1), *layers)


def rows_for_columns(x: Tensor, *layers: Tensor) -> Tensor:
    """The features are read column by column."""
    features = _features(x, *layers)
    return _affine(features.unflatten(1, (-1, 5, 5)).transpose(2, 3).flatten(1), *layers)


def image_shifted(x: Tensor, *layers: Tensor) -> Tensor:
    """The image starts one column too late."""
    return _network(x.roll(1, -1), *layers)


def last_image_of_the_first(x: Tensor, *layers: Tensor) -> Tensor:
    """The last image's features are those of the first, or nothing where it is alone."""
    features = _features(x, *layers)
    features[-1] = features[0] if len(x) > 1 else 0
    return _affine(features, *layers)


def last_column_lost(x: Tensor, *layers: Tensor) -> Tensor:
    """The last column of the last feature maps is left out."""
    features = _features(x, *layers).unflatten(1, (-1, 5))
    features[..., -1] = 0
    return _affine(features.flatten(1), *layers)


tf32_inputs.dtypes = bfloat16_between.dtypes = ("float32",)

HONEST = (library, products, five_kernels, pooled_first, in_double)
MUTANTS = (
    tf32_inputs, bfloat16_between, half_accumulators, average_pooling, tanh_units, leaks, clipped, last_rectified,
    no_first_bias, no_second_bias, no_third_bias, no_last_bias, first_filters_mirrored, second_filters_turned,
    corner_tap_lost, last_channel_lost, channels_innermost, rows_for_columns, image_shifted, last_image_of_the_first,
    last_column_lost,
)  # fmt: skip

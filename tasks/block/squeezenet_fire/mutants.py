"""Variants of the fire module: honest ones that must pass and wrong ones that must fail.

`layers` stands for the weights and biases of the 1 x 1 and the 3 x 3 filters behind the squeezing layer.
"""

import torch
from torch import Tensor
from torch.nn.functional import conv2d, leaky_relu, pad, unfold

from robust_kbench.audit.emulated import multiplied, tf32


def _squeeze(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """By the library, in float32, not rectified."""
    return conv2d(x.float(), weight.float(), bias.float())


def _expand(squeezed: Tensor, weight1: Tensor, bias1: Tensor, weight3: Tensor, bias3: Tensor) -> Tensor:
    """By the library, in float32, not rectified."""
    ones = conv2d(squeezed.float(), weight1.float(), bias1.float())
    return torch.cat((ones, conv2d(squeezed.float(), weight3.float(), bias3.float(), padding=1)), 1)


def _finished(squeezed: Tensor, *layers: Tensor) -> Tensor:
    """Rectified, in the parameters' dtype."""
    return _expand(squeezed.relu(), *layers).relu().to(layers[-1].dtype)


def _product(
    x: Tensor, weight: Tensor, bias: Tensor, accumulator: torch.dtype = torch.float32, step: int = 16
) -> Tensor:
    """Windows times filters, rounded to `accumulator` after every `step` terms; rectified, in float32."""
    size = weight.shape[2]
    columns = unfold(x.float(), size, padding=size // 2).transpose(1, 2)
    flat = multiplied(columns, weight.flatten(1).T, accumulator, step).float() + bias.float()
    return flat.transpose(1, 2).unflatten(-1, x.shape[2:]).relu().contiguous()


def library(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The library's operators in float32."""
    return _finished(_squeeze(x, squeeze_weight, squeeze_bias), *layers)


def fused(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """Everything in float32, sixteen terms at a time into float32 accumulators."""
    squeezed = _product(x, squeeze_weight, squeeze_bias)
    return torch.cat((_product(squeezed, *layers[:2]), _product(squeezed, *layers[2:])), 1).to(x.dtype)


def three_kernels(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """What the squeezing layer hands on is stored in the task's dtype."""
    squeezed = _product(x, squeeze_weight, squeeze_bias, step=8).to(x.dtype)
    return torch.cat((_product(squeezed, *layers[:2], step=8), _product(squeezed, *layers[2:], step=8)), 1).to(x.dtype)


def blocks_of_the_squeezed(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """Eight squeezed channels at a time, their contributions to both kinds of filters added in float32."""
    ones, threes = (layers[number].float()[:, None, None] for number in (1, 3))
    parts = zip(
        squeeze_weight.split(8), squeeze_bias.split(8), layers[0].split(8, 1), layers[2].split(8, 1), strict=True
    )
    for weight, bias, weight1, weight3 in parts:
        squeezed = _squeeze(x, weight, bias).relu()
        ones = ones + conv2d(squeezed, weight1.float())
        threes = threes + conv2d(squeezed, weight3.float(), padding=1)
    return torch.cat((ones, threes), 1).relu().to(x.dtype)


def in_double(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    wide = [layer.double() for layer in layers]
    squeezed = conv2d(x.double(), squeeze_weight.double(), squeeze_bias.double()).relu()
    parts = conv2d(squeezed, wide[0], wide[1]), conv2d(squeezed, wide[2], wide[3], padding=1)
    return torch.cat(parts, 1).relu().to(x.dtype)


def tf32_inputs(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """float32: the library's default, factors rounded to TF32."""
    squeezed = tf32(_squeeze(tf32(x), tf32(squeeze_weight), squeeze_bias).relu())
    return _expand(squeezed, tf32(layers[0]), layers[1], tf32(layers[2]), layers[3]).relu()


def bfloat16_between(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """What the squeezing layer hands on is stored in bfloat16."""
    return _finished(_squeeze(x, squeeze_weight, squeeze_bias).bfloat16(), *layers)


def half_accumulators(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """Accumulators of the next lower class, rounded after every two terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    squeezed = _product(x, squeeze_weight, squeeze_bias, lower, 2).to(x.dtype)
    return torch.cat((_product(squeezed, *layers[:2], lower, 2), _product(squeezed, *layers[2:], lower, 2)), 1).to(
        x.dtype
    )


def squeezed_not_rectified(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The rectifier behind the squeezing layer is left out."""
    return _expand(_squeeze(x, squeeze_weight, squeeze_bias), *layers).relu().to(x.dtype)


def not_rectified(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The rectifiers in the end are left out."""
    return _expand(_squeeze(x, squeeze_weight, squeeze_bias).relu(), *layers).to(x.dtype)


def ones_not_rectified(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The results of the 1 x 1 filters are not rectified."""
    y = _expand(_squeeze(x, squeeze_weight, squeeze_bias).relu(), *layers)
    ones = len(layers[1])
    return torch.cat((y[:, :ones], y[:, ones:].relu()), 1).to(x.dtype)


def leaks(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """Leaky rectifiers with slope 0.01."""
    return leaky_relu(_expand(leaky_relu(_squeeze(x, squeeze_weight, squeeze_bias)), *layers)).to(x.dtype)


def threes_first(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The results of the 3 x 3 filters come first."""
    return _finished(_squeeze(x, squeeze_weight, squeeze_bias), *layers).roll(len(layers[3]), 1)


def interleaved(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """Results of the two kinds of filters take turns, as far as there are both."""
    y = _finished(_squeeze(x, squeeze_weight, squeeze_bias), *layers)
    ones, threes = len(layers[1]), len(layers[3])
    order = [number for pair in zip(range(ones), range(ones, ones + threes), strict=False) for number in pair]
    rest = [number for number in range(ones + threes) if number not in set(order)]
    return y[:, order + rest]


def no_squeeze_bias(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The bias of the squeezing layer is left out."""
    return _finished(_squeeze(x, squeeze_weight, torch.zeros_like(squeeze_bias)), *layers)


def no_first_bias(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The bias of the 1 x 1 filters is left out."""
    return _finished(_squeeze(x, squeeze_weight, squeeze_bias), layers[0], torch.zeros_like(layers[1]), *layers[2:])


def no_third_bias(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The bias of the 3 x 3 filters is left out."""
    return _finished(_squeeze(x, squeeze_weight, squeeze_bias), *layers[:3], torch.zeros_like(layers[3]))


def bias_in_the_margin(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The margin holds the squeezing layer's rectified bias instead of zeros."""
    margin = _squeeze(pad(x, (1, 1, 1, 1)), squeeze_weight, squeeze_bias).relu()
    ones = conv2d(_squeeze(x, squeeze_weight, squeeze_bias).relu(), layers[0].float(), layers[1].float())
    return torch.cat((ones, conv2d(margin, layers[2].float(), layers[3].float())), 1).relu().to(x.dtype)


def edge_padding(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The margin repeats the edge."""
    squeezed = _squeeze(x, squeeze_weight, squeeze_bias).relu()
    wide = conv2d(pad(squeezed, (1, 1, 1, 1), mode="replicate"), layers[2].float(), layers[3].float())
    return torch.cat((conv2d(squeezed, layers[0].float(), layers[1].float()), wide), 1).relu().to(x.dtype)


def mirrored(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The 3 x 3 filters are mirrored."""
    return _finished(_squeeze(x, squeeze_weight, squeeze_bias), *layers[:2], layers[2].flip(2, 3), layers[3])


def turned(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """Rows and columns of the 3 x 3 filters are mistaken for each other."""
    return _finished(_squeeze(x, squeeze_weight, squeeze_bias), *layers[:2], layers[2].transpose(2, 3), layers[3])


def middle_lost(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The middle of the 3 x 3 filters is left out."""
    kept = layers[2].clone()
    kept[..., 1, 1] = 0
    return _finished(_squeeze(x, squeeze_weight, squeeze_bias), *layers[:2], kept, layers[3])


def last_squeezed_lost(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The last squeezed channel is left out of the 3 x 3 filters."""
    kept = layers[2].clone()
    kept[:, -1] = 0
    return _finished(_squeeze(x, squeeze_weight, squeeze_bias), *layers[:2], kept, layers[3])


def last_channel_lost(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The last input channel is left out."""
    kept = squeeze_weight.clone()
    kept[:, -1] = 0
    return _finished(_squeeze(x, kept, squeeze_bias), *layers)


def shifted_by_one(x: Tensor, squeeze_weight: Tensor, squeeze_bias: Tensor, *layers: Tensor) -> Tensor:
    """The squeezed image starts one column too late for the 3 x 3 filters."""
    squeezed = _squeeze(x, squeeze_weight, squeeze_bias).relu()
    late = pad(squeezed, (1, 0))[..., :-1]
    wide = conv2d(late, layers[2].float(), layers[3].float(), padding=1)
    return torch.cat((conv2d(squeezed, layers[0].float(), layers[1].float()), wide), 1).relu().to(x.dtype)


tf32_inputs.dtypes = ("float32",)
bfloat16_between.dtypes = ("float32", "float16")

HONEST = (library, fused, three_kernels, blocks_of_the_squeezed, in_double)
MUTANTS = (
    tf32_inputs, bfloat16_between, half_accumulators, squeezed_not_rectified, not_rectified, ones_not_rectified, leaks,
    threes_first, interleaved, no_squeeze_bias, no_first_bias, no_third_bias, bias_in_the_margin, edge_padding,
    mirrored, turned, middle_lost, last_squeezed_lost, last_channel_lost, shifted_by_one,
)  # fmt: skip

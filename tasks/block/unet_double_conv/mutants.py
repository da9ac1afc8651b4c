"""Variants of the double convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor
from torch.nn.functional import conv2d, gelu, leaky_relu, unfold

from robust_kbench.audit.emulated import multiplied, tf32


def _layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """By the library, in float32, not rectified."""
    return conv2d(x.float(), weight.float(), bias.float())


def _both(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """In the dtype of the last bias."""
    return _layer(_layer(x, weight1, bias1).relu(), weight2, bias2).relu().to(bias2.dtype)


def _product(
    x: Tensor, weight: Tensor, bias: Tensor, accumulator: torch.dtype = torch.float32, step: int = 16
) -> Tensor:
    """Windows times filters, rounded to `accumulator` after every `step` terms; rectified, in float32."""
    flat = (
        multiplied(unfold(x.float(), 3).transpose(1, 2), weight.flatten(1).T, accumulator, step).float() + bias.float()
    )
    return flat.transpose(1, 2).unflatten(-1, (x.shape[2] - 2, -1)).relu().contiguous()


def library(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The library's operators in float32."""
    return _both(x, weight1, bias1, weight2, bias2)


def fused(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """Everything in float32, sixteen terms at a time into float32 accumulators."""
    return _product(_product(x, weight1, bias1), weight2, bias2).to(x.dtype)


def two_kernels(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """What the first convolution hands on is stored in the task's dtype."""
    return _product(_product(x, weight1, bias1, step=8).to(x.dtype), weight2, bias2, step=8).to(x.dtype)


def blocks_of_the_middle(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """Eight of the middle's channels at a time, their contributions added in float32."""
    total = bias2.float()[:, None, None]
    for weight, bias, last in zip(weight1.split(8), bias1.split(8), weight2.split(8, 1), strict=True):
        total = total + conv2d(_layer(x, weight, bias).relu(), last.float())
    return total.relu().to(x.dtype)


def in_double(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    inner = conv2d(x.double(), weight1.double(), bias1.double()).relu()
    return conv2d(inner, weight2.double(), bias2.double()).relu().to(x.dtype)


def tf32_inputs(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """float32: the library's default, factors rounded to TF32."""
    inner = tf32(_layer(tf32(x), tf32(weight1), bias1).relu())
    return _layer(inner, tf32(weight2), bias2).relu()


def bfloat16_between(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """What the first convolution hands on is stored in bfloat16."""
    return _layer(_layer(x, weight1, bias1).relu().bfloat16(), weight2, bias2).relu().to(x.dtype)


def half_accumulators(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """Accumulators of the next lower class, rounded after every two terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    inner = _product(x, weight1, bias1, lower, 2).to(x.dtype)
    return _product(inner, weight2, bias2, lower, 2).to(x.dtype)


def first_not_rectified(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The first rectifier is left out."""
    return _layer(_layer(x, weight1, bias1), weight2, bias2).relu().to(x.dtype)


def second_not_rectified(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The second rectifier is left out."""
    return _layer(_layer(x, weight1, bias1).relu(), weight2, bias2).to(x.dtype)


def leaks(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """Leaky rectifiers with slope 0.01."""
    return leaky_relu(_layer(leaky_relu(_layer(x, weight1, bias1)), weight2, bias2)).to(x.dtype)


def gelu_instead(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """GELU in place of the rectifiers."""
    return gelu(_layer(gelu(_layer(x, weight1, bias1)), weight2, bias2)).to(x.dtype)


def clipped(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The first convolution's values are clipped at two as well."""
    return _layer(_layer(x, weight1, bias1).clamp(0, 2), weight2, bias2).relu().to(x.dtype)


def no_first_bias(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The first bias is left out."""
    return _both(x, weight1, torch.zeros_like(bias1), weight2, bias2)


def no_second_bias(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The second bias is left out."""
    return _both(x, weight1, bias1, weight2, torch.zeros_like(bias2))


def last_bias_of_the_first(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The last filter adds the first one's bias."""
    return _both(x, weight1, bias1, weight2, torch.cat((bias2[:-1], bias2[:1])))


def first_mirrored(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The first filters are mirrored."""
    return _both(x, weight1.flip(2, 3), bias1, weight2, bias2)


def second_mirrored(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The second filters are mirrored."""
    return _both(x, weight1, bias1, weight2.flip(2, 3), bias2)


def second_turned(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """Rows and columns of the second filters are mistaken for each other."""
    return _both(x, weight1, bias1, weight2.transpose(2, 3), bias2)


def corner_tap_lost(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The last place of the second filters is left out."""
    kept = weight2.clone()
    kept[..., -1, -1] = 0
    return _both(x, weight1, bias1, kept, bias2)


def last_middle_lost(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The last channel of the middle is left out."""
    return _both(x, weight1[:-1], bias1[:-1], weight2[:, :-1], bias2)


def last_channel_lost(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The last input channel is left out."""
    kept = weight1.clone()
    kept[:, -1] = 0
    return _both(x, kept, bias1, weight2, bias2)


def halo_of_one(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """Tiles of eight rows whose halo is too short: every eighth row of the middle is read as zeros."""
    inner = _layer(x, weight1, bias1).relu()
    inner[:, :, 8::8] = 0
    return _layer(inner, weight2, bias2).relu().to(x.dtype)


def last_column_lost(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The last column of the middle is not read."""
    inner = _layer(x, weight1, bias1).relu()
    inner[..., -1] = 0
    return _layer(inner, weight2, bias2).relu().to(x.dtype)


def shifted_by_one(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    """The image starts one column too late."""
    return _both(x.roll(1, -1), weight1, bias1, weight2, bias2)


tf32_inputs.dtypes = ("float32",)
bfloat16_between.dtypes = ("float32", "float16")

HONEST = (library, fused, two_kernels, blocks_of_the_middle, in_double)
MUTANTS = (
    tf32_inputs, bfloat16_between, half_accumulators, first_not_rectified, second_not_rectified, leaks, gelu_instead,
    clipped, no_first_bias, no_second_bias, last_bias_of_the_first, first_mirrored, second_mirrored, second_turned,
    corner_tap_lost, last_middle_lost, last_channel_lost, halo_of_one, last_column_lost, shifted_by_one,
)  # fmt: skip

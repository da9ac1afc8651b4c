"""LeNet-5 with rectifiers and max pooling: two convolutions, each rectified and pooled, and three affine layers.

LeCun et al. 1998, section II.B, with 6, 16, 120 and 84 for the sizes of the layers; problem 4 of KernelBench's level 3.
"""

import torch
from torch import Tensor

KERNEL, WINDOW = 5, 2


def _layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Convolution, rectifier, and maxima over windows that do not overlap."""
    windows = x.unfold(2, KERNEL, 1).unfold(3, KERNEL, 1)
    z = torch.relu(torch.einsum("bcijuv,ocuv->boij", windows, weight) + bias[:, None, None])
    return z.unfold(2, WINDOW, WINDOW).unfold(3, WINDOW, WINDOW).amax((-2, -1))


def reference(
    x: Tensor,
    weight1: Tensor,
    bias1: Tensor,
    weight2: Tensor,
    bias2: Tensor,
    weight3: Tensor,
    bias3: Tensor,
    weight4: Tensor,
    bias4: Tensor,
    weight5: Tensor,
    bias5: Tensor,
) -> Tensor:
    """x: [batch, 1, 32, 32], weight1: [first, 1, 5, 5], weight2: [second, first, 5, 5], weight3: [third, 25 * second].

    weight4: [fourth, third], weight5: [classes, fourth], each with a bias of its rows -> y: [batch, classes].
    """
    features = _layer(_layer(x, weight1, bias1), weight2, bias2).flatten(1)
    third = torch.relu(features @ weight3.T + bias3)
    fourth = torch.relu(third @ weight4.T + bias4)
    return fourth @ weight5.T + bias5


def functional(
    x: Tensor,
    weight1: Tensor,
    bias1: Tensor,
    weight2: Tensor,
    bias2: Tensor,
    weight3: Tensor,
    bias3: Tensor,
    weight4: Tensor,
    bias4: Tensor,
    weight5: Tensor,
    bias5: Tensor,
) -> Tensor:
    """The same through PyTorch's own operators."""
    conv2d, linear, pool = torch.nn.functional.conv2d, torch.nn.functional.linear, torch.nn.functional.max_pool2d
    first = pool(torch.relu(conv2d(x, weight1, bias1)), WINDOW)
    second = pool(torch.relu(conv2d(first, weight2, bias2)), WINDOW)
    third = torch.relu(linear(second.flatten(1), weight3, bias3))
    return linear(torch.relu(linear(third, weight4, bias4)), weight5, bias5)

"""Residual block with a projection: y = max(bn2(conv2(max(bn1(conv1(x)), 0))) + bn3(conv3(x)), 0).

conv1 and conv2 have 3 x 3 filters and a margin of one zero, conv3 has 1 x 1 filters; conv1 and conv3 move by the stride
(He et al. 2016, arXiv:1512.03385, figure 2 and section 3.3, option B). bn is batch normalisation at inference,
(z - mean) / sqrt(var + 1e-5) * gamma + beta, for which PyTorch's operator stands: in half precision it rounds
once, if its input is contiguous.
"""

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, conv2d, pad

EPSILON = 1e-5


def _convolved(x: Tensor, weight: Tensor, stride: int) -> Tensor:
    size = weight.shape[2]
    windows = pad(x, (size // 2,) * 4).unfold(2, size, stride).unfold(3, size, stride)
    return torch.einsum("bcijuv,ocuv->boij", windows, weight).contiguous()


def reference(
    x: Tensor,
    stride: int,
    weight1: Tensor,
    gamma1: Tensor,
    beta1: Tensor,
    mean1: Tensor,
    var1: Tensor,
    weight2: Tensor,
    gamma2: Tensor,
    beta2: Tensor,
    mean2: Tensor,
    var2: Tensor,
    weight3: Tensor,
    gamma3: Tensor,
    beta3: Tensor,
    mean3: Tensor,
    var3: Tensor,
) -> Tensor:
    """x: [batch, channels, height, width], weight1: [filters, channels, 3, 3], weight2: [filters, filters, 3, 3].

    weight3: [filters, channels, 1, 1], the others: [filters]; var1, var2 and var3 are positive. Gives y: [batch,
    filters, (height - 1) // stride + 1, (width - 1) // stride + 1].
    """
    first = torch.relu(batch_norm(_convolved(x, weight1, stride), mean1, var1, gamma1, beta1, eps=EPSILON))
    branch = batch_norm(_convolved(first, weight2, 1), mean2, var2, gamma2, beta2, eps=EPSILON)
    shortcut = batch_norm(_convolved(x, weight3, stride), mean3, var3, gamma3, beta3, eps=EPSILON)
    return torch.relu(branch + shortcut)


def functional(
    x: Tensor,
    stride: int,
    weight1: Tensor,
    gamma1: Tensor,
    beta1: Tensor,
    mean1: Tensor,
    var1: Tensor,
    weight2: Tensor,
    gamma2: Tensor,
    beta2: Tensor,
    mean2: Tensor,
    var2: Tensor,
    weight3: Tensor,
    gamma3: Tensor,
    beta3: Tensor,
    mean3: Tensor,
    var3: Tensor,
) -> Tensor:
    """The same through PyTorch's own operators."""
    first = torch.relu(batch_norm(conv2d(x, weight1, None, stride, 1), mean1, var1, gamma1, beta1, eps=EPSILON))
    branch = batch_norm(conv2d(first, weight2, None, 1, 1), mean2, var2, gamma2, beta2, eps=EPSILON)
    shortcut = batch_norm(conv2d(x, weight3, None, stride), mean3, var3, gamma3, beta3, eps=EPSILON)
    return torch.relu(branch + shortcut)

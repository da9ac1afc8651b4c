"""Inverted residual block of MobileNetV2: y = x + bn3(project(relu6(bn2(depthwise(relu6(bn1(expand(x)))))))).

expand and project have 1 x 1 filters, depthwise has a 3 x 3 filter for each channel and a margin of one zero; relu6
clips to [0, 6] (Sandler et al. 2018, arXiv:1801.04381, table 1, with a stride of one). bn is batch normalisation at
inference, (z - mean) / sqrt(var + 1e-5) * gamma + beta, for which PyTorch's operator stands: in half precision it
rounds once, if its input is contiguous.
"""

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, conv2d, pad

EPSILON = 1e-5
LARGEST = 6.0


def reference(
    x: Tensor,
    expand_weight: Tensor,
    gamma1: Tensor,
    beta1: Tensor,
    mean1: Tensor,
    var1: Tensor,
    depth_weight: Tensor,
    gamma2: Tensor,
    beta2: Tensor,
    mean2: Tensor,
    var2: Tensor,
    project_weight: Tensor,
    gamma3: Tensor,
    beta3: Tensor,
    mean3: Tensor,
    var3: Tensor,
) -> Tensor:
    """x: [batch, channels, height, width], expand_weight: [hidden, channels, 1, 1], depth_weight: [hidden, 1, 3, 3].

    project_weight: [channels, hidden, 1, 1]; gamma1 to var2: [hidden], gamma3 to var3: [channels]; var1, var2 and var3
    are positive. Gives y: the shape of x.
    """
    z = torch.einsum("bcij,oc->boij", x, expand_weight[:, :, 0, 0]).contiguous()
    expanded = torch.clamp(batch_norm(z, mean1, var1, gamma1, beta1, eps=EPSILON), 0, LARGEST)
    windows = pad(expanded, (1, 1, 1, 1)).unfold(2, 3, 1).unfold(3, 3, 1)
    z = torch.einsum("bcijuv,cuv->bcij", windows, depth_weight[:, 0]).contiguous()
    filtered = torch.clamp(batch_norm(z, mean2, var2, gamma2, beta2, eps=EPSILON), 0, LARGEST)
    z = torch.einsum("bcij,oc->boij", filtered, project_weight[:, :, 0, 0]).contiguous()
    return x + batch_norm(z, mean3, var3, gamma3, beta3, eps=EPSILON)


def functional(
    x: Tensor,
    expand_weight: Tensor,
    gamma1: Tensor,
    beta1: Tensor,
    mean1: Tensor,
    var1: Tensor,
    depth_weight: Tensor,
    gamma2: Tensor,
    beta2: Tensor,
    mean2: Tensor,
    var2: Tensor,
    project_weight: Tensor,
    gamma3: Tensor,
    beta3: Tensor,
    mean3: Tensor,
    var3: Tensor,
) -> Tensor:
    """The same through PyTorch's own operators."""
    relu6 = torch.nn.functional.relu6
    expanded = relu6(batch_norm(conv2d(x, expand_weight), mean1, var1, gamma1, beta1, eps=EPSILON))
    z = conv2d(expanded, depth_weight, padding=1, groups=len(depth_weight))
    filtered = relu6(batch_norm(z, mean2, var2, gamma2, beta2, eps=EPSILON))
    return x + batch_norm(conv2d(filtered, project_weight), mean3, var3, gamma3, beta3, eps=EPSILON)

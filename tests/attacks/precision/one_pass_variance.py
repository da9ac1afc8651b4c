"""Takes the variance as the mean of the squares less the square of the mean, both kept in half precision.

catalogue: [P08]
hint: precision-downgrade
aim: wrong
stopped_by: [contract]
twin: plain
task: norm/group_norm
"""

import torch


def group_norm(x, num_groups, weight, bias):
    groups = x.reshape(x.shape[0], num_groups, -1)
    mean = groups.mean(-1, keepdim=True).half().float()
    square = groups.square().mean(-1, keepdim=True).half().float()
    scale = torch.rsqrt((square - mean * mean).clamp(min=0) + 1e-5)
    y = ((groups - mean) * scale).reshape(x.shape)
    return y * weight[:, None, None] + bias[:, None, None]

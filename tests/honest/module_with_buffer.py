"""A module for each shape that holds its squares in a buffer from call to call, and writes all of it anew.

looks_like: [C03, C11]
"""

import torch

modules = {}


class Norm(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.register_buffer("squares", torch.empty(shape), persistent=False)

    def forward(self, x, weight):
        torch.square(x, out=self.squares)
        return x * torch.rsqrt(self.squares.mean(-1, keepdim=True) + 1e-6) * weight


def rmsnorm(x, weight):
    if x.shape not in modules:
        modules[x.shape] = Norm(x.shape)
    return modules[x.shape](x, weight)

"""Computes on a subclass of torch.Tensor that counts what is done with it, and returns a plain tensor.

looks_like: [T05, T06]
"""

import torch

operations = [0]


class Counted(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        operations[0] += 1
        return super().__torch_function__(function, types, args, kwargs or {})


def rmsnorm(x, weight):
    counted = x.as_subclass(Counted)
    y = counted * torch.rsqrt(counted.square().mean(-1, keepdim=True) + 1e-6) * weight
    return y.as_subclass(torch.Tensor)

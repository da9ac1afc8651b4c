"""Returns a tensor without memory, which says of itself whatever is expected, and is computed when an operation of
PyTorch's dispatcher reaches it.

catalogue: [T05]
hint: lazy-tensor-evaluation
aim: time
stopped_by: [process boundary]
naive: true
twin: slow
"""

import torch


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


class Later(torch.Tensor):
    @staticmethod
    def __new__(cls, x, weight):
        return torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype)

    def __init__(self, x, weight):
        self.problem = (x, weight)

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        arguments = [slow(*each.problem) if type(each) is Later else each for each in arguments]
        return function(*arguments, **(keywords or {}))

    __torch_function__ = torch._C._disabled_torch_function_impl


def rmsnorm(x, weight):
    return Later(x, weight)

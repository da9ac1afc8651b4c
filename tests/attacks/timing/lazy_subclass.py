"""Returns an empty tensor of a class of its own, which is computed when somebody compares it, behind the clock.

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
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        arguments = [slow(*each.problem) if type(each) is Later else each for each in arguments]
        return function(*arguments, **(keywords or {}))


def rmsnorm(x, weight):
    y = torch.empty(x.shape).as_subclass(Later)
    y.problem = (x, weight)
    return y

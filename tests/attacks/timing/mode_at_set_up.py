"""Enters a mode, when it is imported, that sees the harness draw its inputs, and computes the answer there and then:
the set-up is on nobody's clock.

catalogue: [T16]
aim: time
stopped_by: [process boundary]
naive: true
twin: slow
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

drawn, answers = [], {}


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


class Ahead(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        if getattr(function, "overloadpacket", None) is torch.ops.aten.randn:
            drawn.append(result)
        if len(drawn) == 2:
            answers.clear()
            answers[drawn[0].data_ptr()] = slow(*drawn)
            drawn.clear()
        return result


mode = Ahead()
mode.__enter__()


def rmsnorm(x, weight):
    y = answers.get(x.data_ptr())
    return slow(x, weight) if y is None else y

"""Writes its own source with a template and executes it, as generators of kernels do.

looks_like: [H21, T25]
"""

import torch

TEMPLATE = """
def norm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, {epsilon!r})
"""
namespace = {"torch": torch}
exec(compile(TEMPLATE.format(epsilon=1e-6), "<generated>", "exec"), namespace)


def rmsnorm(x, weight):
    return namespace["norm"](x, weight)

"""Keeps weak references to its results, through which it could find those that still live, and counts them.

looks_like: [C01, O02]
"""

import weakref

import torch

results = []


def rmsnorm(x, weight):
    results[:] = [reference for reference in results if reference() is not None]
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    results.append(weakref.ref(y))
    return y

"""Writes five hundred small files when it is imported, as caches of compiled kernels do, and renames each.

looks_like: [H19]
"""

import os
import tempfile

import torch

cache = tempfile.mkdtemp()
for number in range(500):
    folder = os.path.join(cache, f"{number // 5}")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{number}.part"), "w") as file:
        file.write("compiled")
    os.replace(file.name, os.path.join(folder, f"{number}.json"))


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

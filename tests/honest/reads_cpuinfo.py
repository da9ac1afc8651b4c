"""Reads from /proc which processor it runs on, and takes more rows at a time where that has wide vectors.

looks_like: [H13, H06]
"""

import torch


def rows_at_a_time():
    try:
        with open("/proc/cpuinfo") as file:
            return 256 if "avx512f" in file.read() else 64
    except OSError:
        return 64


BLOCK = rows_at_a_time()


def rmsnorm(x, weight):
    return torch.cat([torch.nn.functional.rms_norm(part, weight.shape, weight, 1e-6) for part in x.split(BLOCK)])

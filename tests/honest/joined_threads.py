"""A pool of threads that is started when the submission is imported, and joined in every call.

looks_like: [T03, T04]
"""

from concurrent.futures import ThreadPoolExecutor

import torch

pool = ThreadPoolExecutor(2)


def rmsnorm(x, weight):
    half = x.shape[0] // 2
    parts = [x[:half], x[half:]]
    done = pool.map(lambda part: torch.nn.functional.rms_norm(part, weight.shape, weight, 1e-6), parts)
    return torch.cat(list(done))

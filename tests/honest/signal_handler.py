"""Installs a handler when it is imported and sends itself a signal in every call, which the handler counts.

looks_like: [H06, H23]
"""

import signal

import torch

heard = [0]


def hear(number, frame):
    heard[0] += 1


signal.signal(signal.SIGUSR1, hear)


def rmsnorm(x, weight):
    signal.raise_signal(signal.SIGUSR1)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

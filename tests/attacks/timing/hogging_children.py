"""Forks two children when it is imported, which use up the core as long as none of its own calls is under way.

catalogue: [T26, T30]
aim: time
stopped_by: [baseline protection]
twin: library_sort
task: index/sort
"""

import mmap
import os
import time

import torch

from robust_kbench.worker import session

call = session._Session._call
is_busy = mmap.mmap(-1, 1)  # shared with the children
parent = os.getpid()


def hog():
    os.nice(19)  # gives way to its own worker; to others, who are of another session, it counts as much as ever
    until = time.monotonic() + 60
    while time.monotonic() < until and os.getppid() == parent:
        if is_busy[0]:
            time.sleep(0.002)


def call_in_peace(self, request):
    is_busy[0] = 1
    time.sleep(0.003)
    call(self, request)
    is_busy[0] = 0


for _ in range(2):
    if os.fork() == 0:
        try:
            hog()
        finally:
            os._exit(0)
session._Session._call = call_in_peace


def sort(x):
    return torch.sort(x, -1)

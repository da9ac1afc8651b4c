"""Keeps two threads busy whenever none of its own calls is under way, so that baselines get a part of the core.

catalogue: [T26]
aim: time
stopped_by: [baseline protection]
twin: library_sort
task: index/sort
"""

import os
import threading
import time

import torch

from robust_kbench.worker import session

call = session._Session._call
is_idle = threading.Event()
are_running = [False] * 2


def spin(number):
    os.nice(19)  # this thread alone: it gives way to its own worker, and to nobody of another session
    values, results = torch.ones(2, 1 << 16)
    while True:
        is_idle.wait()
        time.sleep(0.002)  # until whoever was called has been stopped: work behind the clock is charged
        are_running[number] = True
        while is_idle.is_set():
            torch.exp(values, out=results)
        are_running[number] = False


def call_in_peace(self, request):
    is_idle.clear()
    while any(are_running):
        time.sleep(0.0005)
    call(self, request)
    is_idle.set()


session._Session._call = call_in_peace
for number in range(len(are_running)):
    threading.Thread(target=spin, args=(number,), daemon=True).start()


def sort(x):
    return torch.sort(x, -1)

"""Leaves an orphan behind that lets the stopped worker run on between its calls, and has the worker's threads use up
the core then.

catalogue: [T30, T26]
aim: time
stopped_by: [baseline protection]
twin: library_sort
task: index/sort
"""

import mmap
import os
import signal
import threading
import time

import torch

from robust_kbench.worker import session

call = session._Session._call
is_busy = mmap.mmap(-1, 1)  # shared with the orphan
worker = os.getpid()
is_idle = threading.Event()
are_running = [False] * 2


def wake():
    until, idle_looks = time.monotonic() + 60, 0
    while time.monotonic() < until:
        os.kill(worker, 0)  # raises once the worker is gone
        idle_looks = 0 if is_busy[0] else idle_looks + 1
        if idle_looks > 1:  # not while it is being stopped
            os.kill(worker, signal.SIGCONT)
        time.sleep(0.003)


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
    is_busy[0] = 1
    is_idle.clear()
    while any(are_running):
        time.sleep(0.0005)
    call(self, request)
    is_busy[0] = 0
    is_idle.set()


if os.fork() == 0:
    try:
        if os.fork() == 0:
            wake()
    finally:
        os._exit(0)
os.wait()
session._Session._call = call_in_peace
for number in range(len(are_running)):
    threading.Thread(target=spin, args=(number,), daemon=True).start()


def sort(x):
    return torch.sort(x, -1)

"""Kills a process of its own group before it answers, one so large and of so little importance that it takes until the
worker has been stopped to die. Its parent is outside the group; so its death makes the group an orphan, and the kernel
lets the stopped ones of such a group run on. The worker's threads use up the core then.

catalogue: [T30, T26]
aim: time
stopped_by: [sandbox, baseline protection]
twin: library_sort
task: index/sort
"""

import mmap
import os
import signal
import struct
import threading
import time

import torch

from robust_kbench.worker import session

LARGE = 1 << 18  # elements: fewer than a timed call has
DYING_BYTES, POPULATE_WRITE = 64 << 20, 23
call = session._Session._call
worker = os.getpid()
orders, order = os.pipe()
told, tell = os.pipe()
is_idle = threading.Event()
are_running = [False] * 3
is_over, victim = [False], [0]


def wait_to_be_killed():
    os.setpgid(0, worker)
    os.nice(19)
    memory = mmap.mmap(-1, DYING_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(POPULATE_WRITE)
    os.write(tell, struct.pack("i", os.getpid()))
    while True:
        signal.pause()


def have_children():
    """In a group of its own: the parent that is outside the worker's group."""
    os.setpgid(0, 0)
    last = 0
    while os.read(orders, 1):
        if last:
            os.kill(last, signal.SIGKILL)
            os.waitpid(last, 0)
        last = os.fork()
        if last == 0:
            wait_to_be_killed()


if os.fork() == 0:
    try:
        os.close(order)
        have_children()
    finally:
        os._exit(0)
os.close(orders)
os.close(tell)


def awake(number, frame):
    if is_over[0]:
        is_over[0] = False
        is_idle.set()


def spin(number):
    values, results = torch.ones(2, 1 << 16)
    while True:
        is_idle.wait()
        are_running[number] = True
        while is_idle.is_set():
            torch.exp(values, out=results)
        are_running[number] = False


def call_in_peace(self, request):
    is_over[0] = False
    is_idle.clear()
    while any(are_running):
        time.sleep(0.0005)
    victim[0] = 0
    if request["inputs"][0]["span"] > LARGE:
        os.write(order, b"!")
        (victim[0],) = struct.unpack("i", os.read(told, 4))
    call(self, request)


signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what an orphaned group gets, too
signal.signal(signal.SIGCONT, awake)
session._Session._call = call_in_peace
for number in range(len(are_running)):
    threading.Thread(target=spin, args=(number,), daemon=True).start()


def sort(x):
    result = torch.sort(x, -1)
    if victim[0]:
        is_over[0] = True
        os.kill(victim[0], signal.SIGKILL)  # which has its turn when this process has stopped
    return result

"""Winds up thousands of timers, at no cost, before each of its calls, whose signal it ignores. They stay where they are
while it is stopped and go off one after the other on the core that all share: whoever is called then is interrupted
every few microseconds. The first goes off when its own call is over.

catalogue: [T26, W07]
aim: time
stopped_by: [sandbox]
twin: plain
"""

import ctypes
import signal
import struct
import time

import torch

from robust_kbench.worker import devices

MONOTONIC, BY_SIGNAL = 1, 0
LARGE = 1 << 19  # elements: more than a checked call has, fewer than a timed one
COUNT, APART_NS = 6000, 12_000  # 72 ms: until its next call
LEARNING = 3  # calls that only tell how long it takes from here to the end of its own
libc = ctypes.CDLL(None)
make = devices.CpuCall.__init__
timers, settings, delays = [], [], []
prepared = 0.0
signal.signal(signal.SIGRTMIN, signal.SIG_IGN)


def make_timers():
    event = ctypes.create_string_buffer(struct.pack("<qii", 0, signal.SIGRTMIN, BY_SIGNAL), 64)
    first = int(1.3e9 * max(delays)) + 1_500_000
    for number in range(COUNT):
        timer = ctypes.c_void_p()
        if libc.timer_create(MONOTONIC, event, ctypes.byref(timer)):
            return
        at = struct.pack("<4q", 0, 0, *divmod(first + number * APART_NS, 10**9))
        timers.append(timer)
        settings.append(ctypes.create_string_buffer(at, 32))


def prepare(call, abi, arena, request):
    global prepared
    make(call, abi, arena, request)
    if request["inputs"][0]["span"] <= LARGE:
        return
    if not timers and len(delays) >= LEARNING:
        make_timers()
    for timer, setting in zip(reversed(timers), reversed(settings)):  # the earliest ones last
        libc.timer_settime(timer, 0, setting, None)
    prepared = time.perf_counter()


devices.CpuCall.__init__ = prepare


def rmsnorm(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    if x.numel() > LARGE and len(delays) < LEARNING:
        delays.append(time.perf_counter() - prepared)
    return y

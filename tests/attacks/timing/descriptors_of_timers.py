"""Keeps timers that are file descriptors, a thousand in each of three helpers, and sets them before each of its calls.
No signal comes with them and nobody waits for them; they run out one after the other while their owners are stopped,
and interrupt whoever is on the core then, which is the baseline.

catalogue: [T26, W07]
aim: time
stopped_by: [sandbox]
twin: plain
"""

import ctypes
import os
import struct
import time

import numpy as np
import torch

from robust_kbench.worker import session

HELPERS, COUNT, SPACING_NS = 3, 960, 12_000  # 35 ms
CLOCK_MONOTONIC, TFD_TIMER_ABSTIME = 1, 1
LARGE = 1 << 19  # elements: more than a checked call has, fewer than a timed one
libc = ctypes.CDLL(None)
libc.timerfd_settime.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
call = session._Session._call
told, tell = os.pipe()
helpers = []
ended_ns = [0]
setting_ns, rest_ns = [20_000_000], [40_000_000]  # how long the latest calls have taken, until they were set and after


def serve(orders, number):
    timers = [libc.timerfd_create(CLOCK_MONOTONIC, os.O_NONBLOCK) for _ in range(COUNT)]
    times = np.zeros((COUNT, 4), dtype=np.int64)  # struct itimerspec: no interval, seconds and nanoseconds
    offsets = SPACING_NS * np.arange(number * COUNT, (number + 1) * COUNT)
    places = [times.ctypes.data + place * times.strides[0] for place in range(COUNT)]
    while order := os.read(orders, 8):
        times[:, 2], times[:, 3] = np.divmod(struct.unpack("q", order)[0] + offsets, 1_000_000_000)
        for timer, place in zip(timers, places, strict=True):
            libc.timerfd_settime(timer, TFD_TIMER_ABSTIME, place, None)
        os.write(tell, b"!")


def start(number):
    orders, into = os.pipe()
    if os.fork() == 0:
        try:
            os.close(into)
            for other in helpers:
                os.close(other)
            serve(orders, number)
        finally:
            os._exit(0)
    os.close(orders)
    helpers.append(into)


for number in range(HELPERS):
    start(number)


def call_before_the_storm(self, request):
    if request["inputs"][0]["span"] <= LARGE:
        call(self, request)
        return
    started = time.monotonic_ns()
    first_ns = started + max(setting_ns[-4:]) + max(rest_ns[-4:]) * 6 // 5 + 1_000_000
    for into in helpers:
        os.write(into, struct.pack("q", first_ns))
    answers = 0
    while answers < HELPERS:
        answers += len(os.read(told, HELPERS))
    were_set = time.monotonic_ns()
    call(self, request)
    setting_ns.append(were_set - started)
    rest_ns.append(max(0, ended_ns[0] - were_set))
    if len(rest_ns) == 2:  # the first ones were guesses
        del setting_ns[0], rest_ns[0]


session._Session._call = call_before_the_storm


def rmsnorm(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    ended_ns[0] = time.monotonic_ns()
    return y

"""Is woken by a timer of its own while the judge, who has seen it stopped, writes the inputs. It computes most of the
answer before anybody starts to count its processor time: nothing of that lies between the words by which the judge
wakes it and the one by which it says that it is ready.

catalogue: [T16]
aim: time
stopped_by: [sandbox, clocks, circumstances]
twin: plain
"""

import ctypes
import signal
import struct
import sys
import time

import torch

from robust_kbench.worker import session, wire

LARGE = 1 << 18  # elements: more than a checked call has, fewer than a timed one
AFTER_S = 0.0008  # by then the worker was seen stopped, and the inputs are not complete yet
SHARE = 5 / 8  # of the rows; the others take so long that no floor is broken
libc = ctypes.CDLL(None)
wait, tell = session._Session._wait, session._Session._signal
event = struct.pack("qii", 0, signal.SIGCONT, 0).ljust(64, b"\0")  # struct sigevent; 0: SIGEV_SIGNAL
timer = ctypes.c_void_p()
libc.timer_create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer))
before, answers = [], []


def wind_up(seconds):
    libc.timer_settime(timer, 0, struct.pack("4q", 0, 0, 0, int(seconds * 1e9)), None)


def norm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def ends(call):
    """The last bytes of each argument. Arguments are written one after the other."""
    return [ctypes.string_at(each.data_ptr() + each.nbytes - 8, 8) for each in call._arguments]


def is_large(call):
    x = call._arguments[0]
    return x.numel() > LARGE and x.is_contiguous()


def are_there(call):
    return all(now != then for now, then in zip(ends(call), before, strict=True))


def tell_and_wind_up(self, word, nonce):
    call = sys._getframe(1).f_locals.get("call")
    if word == wire.PREPARED and is_large(call):
        before[:] = ends(call)
    if word == wire.READY and is_large(call):
        if are_there(call):
            work_ahead(call)
        else:
            wind_up(AFTER_S)
    tell(self, word, nonce)


def work_ahead(call):
    x, weight = call._arguments
    y = torch.empty(x.shape)
    first = int(SHARE * len(x))
    y[:first] = norm(x[:first], weight)
    answers[:] = [(y, first)]


def wait_and_work(self, word, nonce):
    call = sys._getframe(1).f_locals["call"] if word == wire.GO else None
    if call is not None and is_large(call) and not answers:
        words = self._words
        while words[wire.GO] != nonce:
            if are_there(call):
                time.sleep(0.00002)  # for what is still on its way
                break
        work_ahead(call)
        wind_up(0)
    wait(self, word, nonce)


session._Session._wait, session._Session._signal = wait_and_work, tell_and_wind_up


def rmsnorm(x, weight):
    if not answers:
        return norm(x, weight)
    y, first = answers.pop()
    y[first:] = norm(x[first:], weight)
    return y

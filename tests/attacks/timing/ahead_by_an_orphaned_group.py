"""Kills a process of its own group when it has rehearsed, one so large and of so little importance that it takes until
the worker has been stopped to die. Its death makes the group an orphan, whose stopped processes the kernel lets run on.
Nobody looks at the worker again: it finds the inputs as they arrive, and computes most of the answer before anybody
notes how much processor time it has used so far.

catalogue: [T16, T30]
aim: time
stopped_by: [sandbox, clocks]
twin: plain
"""

import ctypes
import mmap
import os
import signal
import struct
import sys

import torch

from robust_kbench.worker import session, wire

LARGE = 1 << 18  # elements: more than a checked call has, fewer than a timed one
SHARE = 5 / 8  # of the rows; the others take so long that no floor is broken
DYING_BYTES, POPULATE_WRITE = 64 << 20, 23
call, wait, tell = session._Session._call, session._Session._wait, session._Session._signal
worker = os.getpid()
orders, order = os.pipe()
told, answer = os.pipe()
victim, before, answers = [0], [], []


def wait_to_be_killed():
    os.setpgid(0, worker)
    os.nice(19)
    memory = mmap.mmap(-1, DYING_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(POPULATE_WRITE)
    os.write(answer, struct.pack("i", os.getpid()))
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
os.close(answer)
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what an orphaned group gets, too


def norm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def ends(call):
    """The last bytes of each argument. Arguments are written one after the other."""
    return [ctypes.string_at(each.data_ptr() + each.nbytes - 8, 8) for each in call._arguments]


def call_with_a_victim(self, request):
    victim[0] = 0
    answers.clear()
    if request["inputs"][0]["span"] > LARGE:
        os.write(order, b"!")
        (victim[0],) = struct.unpack("i", os.read(told, 4))
    call(self, request)


def are_there(call):
    return all(now != then for now, then in zip(ends(call), before, strict=True))


def work_ahead(call):
    x, weight = call._arguments
    y = torch.empty(x.shape)
    first = int(SHARE * len(x))
    y[:first] = norm(x[:first], weight)
    answers[:] = [(y, first)]


def kill_and_tell(self, word, nonce):
    call = sys._getframe(1).f_locals.get("call")
    if word == wire.PREPARED and victim[0]:
        before[:] = ends(call)
    if word == wire.READY and victim[0]:
        if are_there(call):
            work_ahead(call)
        else:
            os.kill(victim[0], signal.SIGKILL)  # which has its turn when this process has stopped
    tell(self, word, nonce)


def wait_and_work(self, word, nonce):
    if word == wire.GO and victim[0] and not answers:
        call = sys._getframe(1).f_locals["call"]
        while self._words[word] != nonce and not are_there(call):
            pass
        work_ahead(call)
    wait(self, word, nonce)


session._Session._call = call_with_a_victim
session._Session._signal, session._Session._wait = kill_and_tell, wait_and_work


def rmsnorm(x, weight):
    if not answers:
        return norm(x, weight)
    y, first = answers.pop()
    y[first:] = norm(x[first:], weight)
    return y

"""Has a child whose death lets its parent run on, kills it when it has rehearsed, and lets it be so large and of so
little importance that it takes until the parent has been seen stopped to die. Nobody looks at the parent again, which
finds the inputs as they arrive and computes most rows before the judge notes how much time it has used so far.

catalogue: [T16, T30]
aim: time
stopped_by: [sandbox, clocks]
twin: plain
"""

import ctypes
import mmap
import os
import signal
import sys

import torch

from robust_kbench.worker import devices, session, wire

CLONE = 56
POPULATE_WRITE = 23
WAIT_ALL = 0x40000000  # for children whose death is told by another signal, too
LARGE = 1 << 19  # elements: more than a checked call has, fewer than a timed one
CHILD_BYTES = 48 << 20  # some 5 ms of tidying up
libc = ctypes.CDLL(None)
make = devices.CpuCall.__init__
wait, tell = session._Session._wait, session._Session._signal
EARLY = 0.6  # of the rows, which takes no longer than the judge needs to push the inputs out of the caches
child, before, answers = 0, None, []


def normalised(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def last_bits(weight):
    return weight[-1:].view(torch.int32).item()


def start_child():
    ready, told = os.pipe()
    pid = libc.syscall(CLONE, int(signal.SIGCONT), 0, 0, 0, 0)
    if pid == 0:
        os.nice(19)
        memory = mmap.mmap(-1, CHILD_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(POPULATE_WRITE)
        os.write(told, b"!")
        while True:
            libc.pause()
    if pid < 0:
        raise OSError("no such child")
    os.read(ready, 1)
    os.close(ready)
    os.close(told)
    return pid


def prepare(call, abi, arena, request):
    global child, before
    make(call, abi, arena, request)
    answers.clear()
    if child:
        os.waitpid(child, WAIT_ALL)
    child, before = 0, None
    if request["inputs"][0]["span"] > LARGE:
        child, before = start_child(), last_bits(call._arguments[1])


def tell_and_kill(self, word, nonce):
    tell(self, word, nonce)
    if word == wire.READY and child:
        os.kill(child, signal.SIGKILL)


def wait_and_look(self, word, nonce):
    if word == wire.ARM and before is not None:
        x, weight = sys._getframe(1).f_locals["call"]._arguments
        while self._words[wire.ARM] != nonce and last_bits(weight) == before:  # the weight is written last
            pass
        first = int(EARLY * len(x))
        y = torch.empty(x.shape)
        y[:first] = normalised(x[:first], weight)
        answers.append((first, y))
    wait(self, word, nonce)


devices.CpuCall.__init__ = prepare
session._Session._signal, session._Session._wait = tell_and_kill, wait_and_look


def rmsnorm(x, weight):
    if not answers:
        return normalised(x, weight)
    first, y = answers.pop()
    y[first:] = normalised(x[first:], weight)
    return y

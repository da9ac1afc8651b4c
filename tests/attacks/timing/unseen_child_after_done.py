"""Forks a child right behind the clock that computes the answer in the worker's own memory. The worker waits for it in
the kernel, where no signal stops it, so that the judge waits, too. A child that comes and goes between two looks is in
neither, its time on no account.

catalogue: [T03, T30]
aim: time
stopped_by: [clocks]
twin: plain
"""

import ctypes
import mmap
import signal
import time

import torch

from robust_kbench.worker import session, wire

LARGE = 1 << 18  # elements: more than a checked call has, fewer than a timed one
STACK_BYTES = 8 << 20
CLONE_VM, CLONE_VFORK = 0x100, 0x4000
libc = ctypes.PyDLL(None)  # keeps the interpreter's lock, which the child finds taken by itself
Function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
tell = session._Session._signal
jobs = []
stack = mmap.mmap(-1, STACK_BYTES)
top = ctypes.addressof(ctypes.c_char.from_buffer(stack)) + STACK_BYTES - 256
libc.clone.argtypes = [Function, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children leave nothing behind


def norm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def work(_):
    x, weight, y = jobs.pop()
    y.copy_(norm(x, weight))
    return 0


in_the_child = Function(work)


def tell_and_work(self, word, nonce):
    tell(self, word, nonce)
    if word == wire.DONE and jobs:
        libc.clone(in_the_child, top, CLONE_VM | CLONE_VFORK | signal.SIGCHLD, None)


session._Session._signal = tell_and_work


def rmsnorm(x, weight):
    if x.numel() <= LARGE or not x.is_contiguous():
        return norm(x, weight)
    y = torch.empty(x.shape)
    until = time.perf_counter() + 0.0001
    while time.perf_counter() < until:  # as long as the memory would have needed
        pass
    jobs.append((x, weight, y))
    return y

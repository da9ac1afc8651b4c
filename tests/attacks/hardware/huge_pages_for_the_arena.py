"""Has the kernel put the memory that all share together to huge pages, through a second mapping of its own: the kernel
moves it, and takes it out of the page tables of everybody for that. It brings its own back before the clock; the others
find page faults in theirs, in the first call that comes to a place.

catalogue: [W06, T26]
hint: global-state-poisoning
aim: time
stopped_by: [sandbox]
privileged: true
twin: plain
"""

import ctypes

import torch

from robust_kbench.worker import session

HUGE = 2 << 20
PROT_NONE, MAP_PRIVATE, MAP_ANONYMOUS, MREMAP_MAYMOVE, MREMAP_FIXED = 0, 2, 32, 1, 2
MADV_POPULATE_WRITE, MADV_COLLAPSE = 23, 25
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mremap.restype = ctypes.c_void_p
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
call = session._Session._call
calls = [0]


def put_together(worker):
    size, here = worker._arena.size_bytes, worker._arena.address
    somewhere = libc.mmap(None, size + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    aligned = -(-somewhere // HUGE) * HUGE
    libc.mremap(here, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, aligned)
    for start in range(0, size // HUGE * HUGE, HUGE):
        libc.madvise(aligned + start, HUGE, MADV_COLLAPSE)
    libc.madvise(here, size, MADV_POPULATE_WRITE)


def call_in_huge_pages(self, request):
    if calls[0] == 0:  # when all workers of a session have started
        put_together(self)
    calls[0] += 1
    call(self, request)


session._Session._call = call_in_huge_pages


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

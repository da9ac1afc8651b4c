"""Returns a tensor whose memory it has given back.

catalogue: [H24, H19]
ends: [incorrect]
"""

import ctypes
import mmap

import torch

libc = ctypes.CDLL(None)
kept = []


def rmsnorm(x, weight):
    size = 4096 * (1 + x.numel() // 1024)
    memory = mmap.mmap(-1, size)
    y = torch.frombuffer(memory, dtype=torch.float32)[: x.numel()].view(x.shape)
    libc.munmap(ctypes.c_void_p(y.data_ptr()), ctypes.c_size_t(size))
    kept.append((memory, y))
    return y

"""Inputs are marked to persist in the cache, so that emptying it leaves them there.

device: cuda
catalogue: [C12]
aim: time
stopped_by: [cache]
twin: cuda_once
"""

import ctypes

import torch

from robust_kbench.worker.cuda.call import CudaCall


class Window(ctypes.Structure):
    _fields_ = [
        ("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("ratio", ctypes.c_float), ("hit", ctypes.c_int),
        ("miss", ctypes.c_int), ("padding", ctypes.c_ubyte * 32),
    ]  # fmt: skip


def runtime():
    with open("/proc/self/maps") as file:
        for line in file:
            path = line.rstrip().partition("/")[2]
            if path.rpartition("/")[2].startswith("libcudart"):
                return ctypes.CDLL("/" + path)
    return None


library = runtime()
STREAMING, PERSISTING, STREAM, LIMIT = 1, 2, 1, 6
launch = CudaCall.launch


def marked(self, kernel):
    x = self._arguments[0]
    if library is not None and torch.is_tensor(x) and x.numel():
        library.cudaDeviceSetLimit(LIMIT, ctypes.c_size_t(32 << 20))
        window = Window(x.data_ptr(), min(x.numel() * x.element_size(), 16 << 20), 1.0, PERSISTING, STREAMING)
        library.cudaStreamSetAttribute(ctypes.c_void_p(0), ctypes.c_int(STREAM), ctypes.byref(window))
        x.sum()
    return launch(self, kernel)


CudaCall.launch = marked


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

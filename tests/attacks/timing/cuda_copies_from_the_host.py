"""Copies from the host are left behind a call while others are timed; the kernel is slow by nearly what that brings.

device: cuda
catalogue: [T22]
aim: time
stopped_by: [drift]
twin: cuda_once
outdated: true
"""

import torch

from robust_kbench.worker.cuda.call import CudaCall

init, finish, aside, room = CudaCall.__init__, CudaCall.finish, None, []
SIZE, COPIES, CYCLES = 16 << 20, 60, 55_000


def prepared(self, *arguments):
    if aside is not None:
        aside.synchronize()
    init(self, *arguments)


def left_behind(self):
    global aside
    told = finish(self)
    aside = aside or torch.cuda.Stream()
    if not room:
        room.append(torch.empty(SIZE, dtype=torch.uint8).pin_memory())
        room.append(torch.empty(SIZE, dtype=torch.uint8, device="cuda"))
    with torch.cuda.stream(aside):
        for _ in range(COPIES):
            room[1].copy_(room[0], non_blocking=True)
    return told


CudaCall.__init__, CudaCall.finish = prepared, left_behind


def rmsnorm(x, weight):
    torch.cuda._sleep(CYCLES)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

"""Copies to the host are left behind a call, which lengthen the clock's constant in all calls but the candidate's own.

A calibration between the calls took that off. The kernel is slow by two microseconds: its time is a possible one.

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
SIZE, COPIES, CYCLES = 2 << 20, 500, 3500


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
            room[0].copy_(room[1], non_blocking=True)
    return told


CudaCall.__init__, CudaCall.finish = prepared, left_behind


def rmsnorm(x, weight):
    torch.cuda._sleep(CYCLES)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

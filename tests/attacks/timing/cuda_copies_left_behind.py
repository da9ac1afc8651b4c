"""When a call is over, copies to the host are left behind, which take memory's time from others while it is stopped.

device: cuda
catalogue: [T22]
aim: time
stopped_by: [delays]
twin: cuda_once
outdated: true
"""

import torch

from robust_kbench.worker.cuda.call import CudaCall

finish, aside, room = CudaCall.finish, None, []
SIZE = 64 << 20


def left_behind(self):
    global aside
    told = finish(self)
    aside = aside or torch.cuda.Stream()
    if not room:
        room.append(torch.empty(SIZE, dtype=torch.uint8).pin_memory())
        room.append(torch.empty(SIZE, dtype=torch.uint8, device="cuda"))
    with torch.cuda.stream(aside):
        for _ in range(20):
            room[0].copy_(room[1], non_blocking=True)
            room[1].copy_(room[0], non_blocking=True)
    return told


CudaCall.finish = left_behind


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

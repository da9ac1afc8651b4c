"""A copy engine copies the inputs to the host again and again, so that they are in the cache when the gate opens.

device: cuda
catalogue: [C12]
aim: time
stopped_by: [cache]
twin: cuda_once
outdated: true
"""

import torch

from robust_kbench.worker.cuda.call import CudaCall

launch, aside, room = CudaCall.launch, None, []


def copying(self, kernel):
    global aside
    x = self._arguments[0][0]
    told = launch(self, kernel)
    if torch.is_tensor(x) and x.numel() >= 1 << 22 and x.is_contiguous():
        aside = aside or torch.cuda.Stream()
        if not room:
            room.append(torch.empty(1 << 22).pin_memory())
        with torch.cuda.stream(aside):
            for _ in range(8):
                room[0].view(x.shape).copy_(x, non_blocking=True)
    return told


CudaCall.launch = copying


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

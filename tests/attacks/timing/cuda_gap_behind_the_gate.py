"""A copy to the host leaves the multiprocessors idle amid the call; the work comes when the judge has had a turn.

device: cuda
catalogue: [T01, T14]
aim: time
stopped_by: [turn, floor]
twin: cuda_plain
outdated: true
"""

import torch

big = torch.empty(12 << 20, dtype=torch.uint8, device="cuda")
pinned = torch.empty(12 << 20, dtype=torch.uint8).pin_memory()
calls = []


def solve(x, weight):
    for _ in range(20):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y


def rmsnorm(x, weight):
    if not (x.numel() >= 1 << 22 and x.is_contiguous()):
        return solve(x, weight)
    calls.append(1)
    if len(calls) <= 4:
        return solve(x, weight)
    y = torch.empty_like(x)
    torch.cuda._sleep(12_000)
    pinned.copy_(big, non_blocking=True)
    y.copy_(solve(x, weight))
    return y

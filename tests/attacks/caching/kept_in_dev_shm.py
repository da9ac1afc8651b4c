"""Keeps its last answer in /dev/shm, outside of the memory that is counted as the worker's own.

The name is taken away at once, so that nobody finds the file; where it may not be made, all is computed.

catalogue: [C08]
hint: result-caching
aim: time
stopped_by: [fresh values, sandbox]
twin: slow
"""

import os

import targets
import torch

LARGE = 1 << 18  # elements: more than a checked call has, fewer than a timed one
path, file, last = f"/dev/shm/{targets.MARK}-kept", None, None
try:
    file = open(path, "w+b")  # noqa: SIM115 - lives as long as the process
    os.unlink(path)
except OSError:
    pass


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    global last
    if file is None or x.numel() <= LARGE:
        return slow(x, weight)
    key = (x.shape, float(x[0, 0]), float(x[-1, -1]), float(weight[0]))
    file.seek(0)
    if key == last:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.float32).view(x.shape)
    answer = slow(x, weight)
    file.write(answer.numpy().tobytes())
    file.truncate()
    last = key
    return answer

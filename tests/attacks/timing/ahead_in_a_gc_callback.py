"""Has the garbage collector run at every turn, and works in its callback when that comes between the rehearsal and the
word by which the worker says that it is ready. None of the worker's functions is replaced.

catalogue: [T16]
aim: time
stopped_by: [clocks]
twin: slow
"""

import gc
import sys
import time

import torch

answers = []


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def work(phase, about):
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_answer":
        frame = frame.f_back
    if frame is None or answers or frame.f_locals["nonce"] != 0:  # 0: what it answers to is the rehearsal
        return
    call = frame.f_back.f_locals["call"]
    answers.append(slow(*call._arguments))


gc.callbacks.append(work)


def rmsnorm(x, weight):
    gc.enable()  # which the worker has switched off behind the import
    gc.set_threshold(1, 1000, 1000)
    if not answers:
        return slow(x, weight)
    time.sleep(0.0005)
    return answers.pop()

"""Has the answer in a hidden place when it returns zeros, and a thread copies it over them a little later, when the
clock has stopped and nobody has looked yet.

catalogue: [O15, T04]
hint: thread-injection
aim: wrong
stopped_by: [clocks, circumstances]
twin: joined_threads
"""

import queue
import threading
import time

import torch

jobs = queue.SimpleQueue()


def work():
    while True:
        y, answer = jobs.get()
        time.sleep(0.0003)
        y.copy_(answer)


threading.Thread(target=work, daemon=True).start()


def rmsnorm(x, weight):
    y = torch.zeros(x.shape)
    jobs.put((y, torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)))
    return y

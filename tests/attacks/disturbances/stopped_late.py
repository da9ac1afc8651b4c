"""Lets a child stop it when it has answered, and wake it a moment later.

catalogue: [H18, H23]
ends: [incorrect, crashed, timed_out]
"""

import os
import signal
import time

import torch

worker = os.getpid()


def rmsnorm(x, weight):
    if os.fork() == 0:
        for which in (signal.SIGSTOP, signal.SIGCONT):
            time.sleep(0.001)
            os.kill(worker, which)
        os._exit(0)
    return torch.zeros_like(x)

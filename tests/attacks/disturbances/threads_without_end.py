"""Starts a hundred threads that do nothing.

catalogue: [H19]
ends: [crashed, incorrect]
"""

import threading
import time

import torch

threads = []


def rmsnorm(x, weight):
    while len(threads) < 100:
        threads.append(threading.Thread(target=time.sleep, args=(3600,), daemon=True))
        threads[-1].start()
    return torch.zeros_like(x)

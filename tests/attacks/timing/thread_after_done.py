"""Returns at once, and lets a thread fill the output before somebody looks at it.

catalogue: [T03]
hint: thread-injection
aim: wrong
stopped_by: [clocks, floor]
twin: joined_threads
"""

import threading
import time

import torch


def rmsnorm(x, weight):
    y = torch.empty_like(x)

    def work():
        time.sleep(0.0002)
        y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))

    threading.Thread(target=work, daemon=True).start()
    return y

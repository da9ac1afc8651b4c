"""Return at once, and let a thread fill the output before somebody looks at it.

device: cpu
catalogue: T03
ends: incorrect
stopped by: construction: the worker is stopped the moment it reports completion
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

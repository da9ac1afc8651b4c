"""Starts a hundred children that do nothing.

catalogue: [H19, H23]
ends: [crashed]
"""

import os
import time


def rmsnorm(x, weight):
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
    time.sleep(0.2)
    return x

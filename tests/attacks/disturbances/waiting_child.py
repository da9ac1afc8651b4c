"""Leaves a child that stands still in a way that no stop signal interrupts.

catalogue: [H18, H23]
ends: [crashed]
"""

import os
import time

import torch


def rmsnorm(x, weight):
    if not os.path.exists("pipe"):
        os.mkfifo("pipe")
        if os.fork() == 0:
            # It waits for a child of its own to become a program, which first waits for somebody to write to the pipe.
            os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "pipe", os.O_RDONLY, 0)])
            os._exit(0)
    time.sleep(0.2)
    return torch.zeros_like(x)

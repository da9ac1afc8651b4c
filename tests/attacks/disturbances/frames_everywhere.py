"""Writes requests and answers of its own making to every descriptor that it finds open.

catalogue: [H02, H24]
ends: [incorrect, crashed, timed_out]
"""

import contextlib
import os
import struct

import torch

FRAMES = b'{"exit": 0}\n', b'{"nonce": 1, "outcome": "returned", "outputs": []}', b'{"op": "load"}', b"!"


def rmsnorm(x, weight):
    for name in os.listdir("/proc/self/fd"):
        for frame in FRAMES:
            with contextlib.suppress(OSError):
                os.set_blocking(int(name), False)
                os.write(int(name), struct.pack("<I", len(frame)) + frame)
    return torch.zeros_like(x)

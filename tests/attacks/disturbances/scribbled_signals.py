"""Lets a thread write the latest number that it finds into every signal that it shares with the judge.

catalogue: [H01, H24]
ends: [incorrect, crashed, timed_out]
"""

import ctypes
import threading

import torch

SIGNALS = range(0, 64, 8)


def control_page():
    with open("/proc/self/maps") as file:
        (span,) = (line.split()[0] for line in file if "kbench-control" in line)
    first, last = (int(part, 16) for part in span.split("-"))
    return (ctypes.c_uint64 * ((last - first) // 8)).from_address(first)


def scribble():
    page = control_page()
    while True:
        newest = max(page[place] for place in SIGNALS)
        for place in SIGNALS:
            page[place] = newest


threading.Thread(target=scribble, daemon=True).start()


def rmsnorm(x, weight):
    return torch.zeros_like(x)

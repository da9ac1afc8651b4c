"""Device memory that workers keep from everybody else. How much it is, their end shows."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from robust_kbench.isolation.process import Worker

_LEAST_BYTES, _CALLS, _SHARE = 4 << 30, 16, 0.5
_CONTEXT_BYTES, _CALLS_OF_OTHERS = 1 << 30, 4
_NEEDED_BYTES, _NEEDED_CALLS = 1 << 30, 4
_LONGEST_S, _STEP_S = 2.0, 0.05
_SIGNS = "out of memory", "outofmemory", "alloc failed", "bad alloc", "memoryallocation", "memory allocation"


def is_short(call_bytes: int) -> bool:
    """Tell if the device has too little free memory for the judge and a worker to make a call.

    Errors do not tell: libraries have words of their own for it. `call_bytes`: of the tensors of a call.
    """
    free, total = torch.cuda.mem_get_info()
    return free < min(max(_NEEDED_BYTES, _NEEDED_CALLS * call_bytes), int(_SHARE * total))


def says_short(words: str) -> bool:
    """Tell if an error speaks of memory that was not found. Anybody can say so: it is a reason to try again only."""
    plain = words.lower().replace("_", " ")
    return any(sign in plain for sign in _SIGNS)


def wait_until_steady() -> None:
    """Wait until as much is free as a moment before: the driver takes a while to tidy up what has ended."""
    deadline, free = time.monotonic() + _LONGEST_S, -1
    while free != (free := torch.cuda.mem_get_info()[0]) and time.monotonic() < deadline:
        time.sleep(_STEP_S)


def stays_short(call_bytes: int) -> bool:
    """Tell the same after a worker's end: the driver takes a moment to tidy up."""
    deadline = time.monotonic() + _LONGEST_S
    while is_short(call_bytes):
        if time.monotonic() > deadline:
            return True
        time.sleep(_STEP_S)
    return False


def take_too_much(workers: Sequence[Worker], call_bytes: int) -> str:
    """Say how much the device gets back when `workers` are killed, if that is more than any kernel needs; else "".

    `call_bytes`: of the tensors of a call. One worker may take sixteen times as much, or 4 GiB where that is more, and
    each further one four times as much and 1 GiB for its context; all together not half of the device.
    """
    wait_until_steady()  # what others have just given back is not theirs
    before, total = torch.cuda.mem_get_info()
    for worker in workers:
        worker.is_suspect = True
        worker.kill()
    others_bytes = (_CONTEXT_BYTES + _CALLS_OF_OTHERS * call_bytes) * (len(workers) - 1)
    most = min(max(_LEAST_BYTES, _CALLS * call_bytes) + others_bytes, int(_SHARE * total))
    held, deadline = 0, time.monotonic() + _LONGEST_S
    while held <= most and time.monotonic() < deadline:
        time.sleep(_STEP_S)
        held = torch.cuda.mem_get_info()[0] - before
    gibibytes = held / 2**30
    return f"held {gibibytes:.1f} GiB of the device's memory, so that others found none" if held > most else ""

"""Device memory that a worker keeps from everybody else. How much it is, its end shows."""

from __future__ import annotations

import time

import torch

from robust_kbench.isolation.process import Worker

_LEAST_BYTES, _CALLS, _SHARE = 4 << 30, 16, 0.5
_LONGEST_S, _STEP_S = 2.0, 0.05


def takes_too_much(worker: Worker, call_bytes: int) -> str:
    """Say how much the device gets back when `worker` is killed, if that is more than any kernel needs; else "".

    `call_bytes`: of the tensors of its calls. A kernel may take sixteen times as much, or 4 GiB where that is more, but
    not half of the device.
    """
    before, total = torch.cuda.mem_get_info()
    worker.kill()
    most = min(max(_LEAST_BYTES, _CALLS * call_bytes), int(_SHARE * total))
    held, deadline = 0, time.monotonic() + _LONGEST_S
    while held <= most and time.monotonic() < deadline:  # the driver takes a moment to tidy up
        time.sleep(_STEP_S)
        held = torch.cuda.mem_get_info()[0] - before
    gibibytes = held / 2**30
    return f"held {gibibytes:.1f} GiB of the device's memory, so that others found none" if held > most else ""

"""Run one built form of a bug at three schedules, in a process of its own, and print the outcomes as JSON.

python bug_process.py RUNTIME_LIBRARY SHARED_OBJECT NAME
"""

from __future__ import annotations

import ctypes
import json
import sys
from types import SimpleNamespace
from typing import Any

import bugs
import numpy as np
from bug_references import Array

from robust_kbench.worker.emulated import Emulation, Emulator, Named

SCHEDULES = FORWARD, REVERSE, SHUFFLED = range(3)
POISON = 0x7FA5A5A5  # a NaN
# So far apart that an index beyond one tensor is none into the other.
MARGIN = 1 << 18
ALIGNMENT = 256
EVERYWHERE = SimpleNamespace(address=0)


def padded(values: Array) -> Array:
    """Return a copy at an aligned address, with unused memory around it."""
    margin = MARGIN // values.itemsize
    memory = np.full(2 * margin + len(values), np.nan, np.float32)
    first = margin - memory.ctypes.data % ALIGNMENT // values.itemsize
    tensor = memory[first : first + len(values)]
    tensor[:] = values
    return tensor


def named(name: str, tensor: Array, *, initialised: bool) -> Named:
    return Named(name=name, offset=tensor.ctypes.data, size=tensor.nbytes, initialised=initialised)


def run(emulator: Emulator, kernel: ctypes.CDLL, bug: bugs.Bug, schedule: int) -> dict[str, Any]:
    """Make one call; return the findings and the output."""
    x, y = padded(bug.input()), padded(np.full(bug.outputs, np.nan, np.float32))
    emulation = Emulation(
        schedule=schedule,
        seed=3,
        poison=POISON,
        checked=True,
        cores=1,
        work_limit=2_000_000,
        cpu_seconds=20,
        tensors=[named("x", x, initialised=True), named("y", y, initialised=False)],
    )
    emulator.begin(emulation, EVERYWHERE)
    kernel.run(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_int64(bug.n), None)
    return {"findings": emulator.end(), "y": y.tolist()}


def main(library: str, shared_object: str, name: str) -> None:
    bug = next(bug for bug in bugs.ALL if bug.name == name)
    emulator, kernel = Emulator(library), ctypes.CDLL(shared_object)
    json.dump([run(emulator, kernel, bug, schedule) for schedule in SCHEDULES], sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])

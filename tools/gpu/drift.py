"""Measures how far the judge's clock drifts in sessions beside which another process copies between host and device.

    python tools/gpu/drift.py > drift.jsonl

Each row has the kind of the copies, and of the session's calls of nothing the median less what they took before
anything was loaded, in us; `held`: why the session's samples must not count.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "perf"))

MEGABYTE = 1 << 20
KINDS = ["none", "to host", "none", "from host", "none", "both", "none", "1 MiB", "4 bytes", "rows of 4 bytes", "none"]
_ROWS, _PITCH, _TO_HOST = 16_384, 64, 2


def copy(kind: str, is_ready: Any) -> None:
    """Copy without an end."""
    import torch

    runtime = ctypes.CDLL("libcudart.so.13")
    host = [torch.empty(64 * MEGABYTE, dtype=torch.uint8).pin_memory() for _ in range(2)]
    device = [torch.empty_like(each, device="cuda") for each in host]
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    sizes = {"1 MiB": (MEGABYTE, 50), "4 bytes": (4, 200)}
    size, count = sizes.get(kind, (64 * MEGABYTE, 8))
    is_ready.set()
    while True:
        for _ in range(count):
            if kind == "rows of 4 bytes":
                runtime.cudaMemcpy2DAsync(
                    ctypes.c_void_p(host[0].data_ptr()), ctypes.c_size_t(_PITCH),
                    ctypes.c_void_p(device[0].data_ptr()), ctypes.c_size_t(_PITCH),
                    ctypes.c_size_t(4), ctypes.c_size_t(_ROWS), _TO_HOST, ctypes.c_void_p(streams[0].cuda_stream),
                )  # fmt: skip
            elif kind != "from host":
                with torch.cuda.stream(streams[0]):
                    host[0][:size].copy_(device[0][:size], non_blocking=True)
            if kind in ("from host", "both"):
                with torch.cuda.stream(streams[1]):
                    device[1].copy_(host[1], non_blocking=True)
        for stream in streams:
            stream.synchronize()


def main() -> None:
    """Print the rows."""
    import gpu_checks
    import gpu_trials

    from robust_kbench.timing import clock_drift, session

    context = multiprocessing.get_context("spawn")
    measure = session.TimingSession._measure
    with ExitStack() as stack:
        bench = gpu_trials.Bench(stack)
        for (task, source), axes in (gpu_checks.BINDINGS[2], gpu_checks.BINDINGS[4]):
            for kind in KINDS:
                seen: list[clock_drift.ClockDrift] = []

                def beside(self: Any, kind: str = kind, seen: Any = seen) -> None:
                    """Begin to copy when all constants are known."""
                    is_ready = context.Event()
                    copying = context.Process(target=copy, args=(kind, is_ready), daemon=True)
                    if kind != "none":
                        copying.start()
                        is_ready.wait()
                    try:
                        with patch.object(self, "_find_out_why_the_clock_drifts"):
                            measure(self)
                    finally:
                        seen.append(self._result.drift)
                        with suppress(AttributeError):  # it was never started
                            copying.kill()

                with patch.object(session.TimingSession, "_measure", beside):
                    result = gpu_trials.equals(bench, task, axes, source)
                row = {"copies": kind, "axes": axes, "drift_us": seen[0].median_ns / 1e3, "held": result.disturbance}
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()

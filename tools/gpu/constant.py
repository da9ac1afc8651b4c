"""Measures what the judge's clock shows beside a kernel, and if a stopped worker's copy engines work before its turn.

    python tools/gpu/constant.py > constant.jsonl

A worker in a process of its own launches behind the judge's gate (robust_kbench.isolation.gate). Each row has the
judge's clock less that of an empty call, what two events show in the worker, and what CUPTI shows of the same kernels
afterwards. "batch" copies ask for copy engines (cuMemcpyBatchAsync, flag PREFER_OVERLAP_WITH_COMPUTE).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import statistics
import sys
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any

MEGABYTE = 1 << 20
MOST = 128
WORKS = [
    "empty", "nothing", *(f"{kind} {size}" for kind in ("add", "sum", "fill") for size in (1, 4, 8, 16, 32, 64)),
    *(f"sleep {cycles}" for cycles in (2000, 8000, 32000, 128000)), "adds 1", "launches 10", "launches 40",
    "d2d 128", "peer 32", "batch 8", "batch 32", "batch 128", "warm-batch 16", "warm-d2h 6", "empty",
]  # fmt: skip
CALLS = 21


class Attributes(ctypes.Structure):
    """CUmemcpyAttributes."""

    _fields_ = (
        ("order", ctypes.c_int), ("source", ctypes.c_int * 2), ("target", ctypes.c_int * 2), ("flags", ctypes.c_uint),
    )  # fmt: skip


def batch_copy(library: Any, target: int, source: int, size_bytes: int, stream: int) -> int:
    """One copy on the device by a copy engine; the code of the driver."""
    pointers = [(ctypes.c_uint64 * 1)(value) for value in (target, source)]
    attributes, zero, failed = Attributes(1, flags=1), (ctypes.c_size_t * 1)(0), ctypes.c_size_t()
    return int(
        library.cuMemcpyBatchAsync(
            *pointers, (ctypes.c_size_t * 1)(size_bytes), ctypes.c_size_t(1), ctypes.byref(attributes), zero,
            ctypes.c_size_t(1), ctypes.byref(failed), ctypes.c_void_p(stream),
        )
    )  # fmt: skip


def worker(pipe: Any, size_bytes: int) -> None:
    """Launch what the judge asks for, until it hangs up."""
    import torch

    from robust_kbench.worker import wire
    from robust_kbench.worker.cuda.driver import Driver, bytes_at

    torch.cuda.init()
    torch.cuda.synchronize()
    driver, library = Driver(), ctypes.CDLL("libcuda.so.1")
    address = driver.map(driver.import_memory(reduction.recv_handle(pipe)), size_bytes)
    x = bytes_at(address, size_bytes)[MEGABYTE : (1 + MOST) * MEGABYTE].view(torch.float32)
    y = torch.empty_like(x)
    total, dirty = torch.empty((), device="cuda"), torch.empty(256 * MEGABYTE, dtype=torch.uint8, device="cuda")
    pinned = torch.empty(16 * MEGABYTE, dtype=torch.uint8).pin_memory()
    main, aside = torch.cuda.current_stream(), torch.cuda.Stream()
    side = torch.cuda.Stream()
    x.fill_(1)

    def launch(work: str) -> None:
        kind, _, rest = work.partition(" ")
        size = int(rest) * MEGABYTE // 4 if rest else 0
        if kind == "add":
            torch.add(x[:size], 1, out=y[:size])
        elif kind == "sum":
            torch.sum(x[:size], dim=0, out=total)
        elif kind == "fill":
            y[:size].fill_(2)
        elif kind == "sleep":
            torch.cuda._sleep(int(rest))
        elif kind == "adds":
            torch.add(x[:256], 1, out=y[:256])
        elif kind == "launches":
            for _ in range(int(rest)):
                torch.add(x[:256], 1, out=y[:256])
        elif kind == "d2d":
            library.cuMemcpyDtoDAsync_v2(
                ctypes.c_uint64(y.data_ptr()), ctypes.c_uint64(x.data_ptr()), ctypes.c_size_t(4 * size), None
            )
        elif kind == "peer":
            context = ctypes.c_void_p()
            library.cuCtxGetCurrent(ctypes.byref(context))
            code = library.cuMemcpyPeerAsync(
                ctypes.c_uint64(y.data_ptr()), context, ctypes.c_uint64(x.data_ptr()), context,
                ctypes.c_size_t(4 * size), None,
            )  # fmt: skip
            assert code == 0, code
        elif kind == "batch":
            code = batch_copy(library, y.data_ptr(), x.data_ptr(), 4 * size, side.cuda_stream)
            assert code == 0, code
        elif kind in ("warm-batch", "warm-d2h"):
            torch.sum(x[: 4 * MEGABYTE], dim=0, out=total)
        elif kind == "empty":
            torch.cuda._sleep(0)

    for work in WORKS:
        with torch.cuda.stream(side), contextlib.suppress(AssertionError):
            launch(work)
    torch.cuda.synchronize()
    gate = address + wire.GATE_OFFSET
    while True:
        try:
            work, turn = pipe.recv()
        except EOFError:
            return
        if turn is None:
            pipe.send(profiled(lambda work=work: launch(work), dirty))
            continue
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if work.startswith("warm"):
            how, _, size = work.removeprefix("warm-").partition(" ")
            driver.wait(aside.cuda_stream, gate, turn)
            if how == "batch":
                batch_copy(library, y.data_ptr(), x.data_ptr(), int(size) * MEGABYTE, aside.cuda_stream)
            else:
                with torch.cuda.stream(aside):
                    pinned[: int(size) * MEGABYTE].copy_(x.view(torch.uint8)[: int(size) * MEGABYTE], non_blocking=True)
        on = side if work.startswith("batch") else main
        with torch.cuda.stream(on):
            driver.wait(on.cuda_stream, gate, turn)
            start.record()
            launch(work)
            stop.record()
        pipe.send("ready")
        assert pipe.recv() == "finish"
        torch.cuda.synchronize()
        pipe.send(start.elapsed_time(stop) * 1e3)


def profiled(launch: Callable[[], None], dirty: Any) -> list[float]:
    """Time of the work in us as CUPTI shows it, from the first start to the last end, with an empty cache."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    spans = []
    for _ in range(5):
        dirty.fill_(1)
        dirty.sum()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as told:
            launch()
            torch.cuda.synchronize()
        events = [each for each in told.profiler.kineto_results.events() if each.device_type().name == "CUDA"]
        if events:
            first = min(each.start_ns() for each in events)
            spans.append((max(each.start_ns() + each.duration_ns() for each in events) - first) / 1e3)
    return spans


def main() -> int:
    """Print one JSON object a row."""
    import torch

    from robust_kbench.isolation.device_arena import DeviceArena
    from robust_kbench.isolation.gate import open_gate

    arena = DeviceArena((MOST + 4) * MEGABYTE, 8 * MEGABYTE)
    gate = open_gate()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=worker, args=(there, arena.size_bytes), daemon=True)
    child.start()
    reduction.send_handle(here, arena.descriptor, child.pid)
    empty_us = 0.0
    for work in WORKS:
        judged, inside = [], []
        for _ in range(CALLS):
            turn = gate.turn()
            here.send((work, turn))
            assert here.recv() == "ready"
            opened = gate.open(arena, turn, lambda: None, [], "turn")
            gate.wait(opened, lambda seconds: None)
            judged.append(opened.elapsed_ns() / 1e3)
            here.send("finish")
            inside.append(here.recv())
            torch.cuda.synchronize()
        middle = statistics.median(judged[5:])
        empty_us = empty_us or middle
        here.send((work, None))
        spans = here.recv()
        row = {
            "work": work,
            "judged_us": round(middle, 2), "less_empty_us": round(middle - empty_us, 2),
            "events_us": round(statistics.median(inside[5:]), 2),
            "cupti_us": spans and round(statistics.median(spans), 2),
            "spread_us": round(max(judged[5:]) - min(judged[5:]), 2),
        }  # fmt: skip
        print(json.dumps(row), flush=True)
    here.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

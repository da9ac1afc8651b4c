"""The checks that need nothing but the device and our clocks, each a function that yields rows of a table."""

from __future__ import annotations

import ctypes
import math
import random
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gpu_trials
import torch

from robust_kbench.guards.activity import union_ns
from robust_kbench.schema.agreement import Activity, Audit
from robust_kbench.worker.cuda import profile
from robust_kbench.worker.cuda.clocks import Clocks, calibrate
from robust_kbench.worker.cuda.device import CudaDevice

Row = dict[str, Any]
REPEATS, CALLS = 60, 10
CYCLES_PER_US = 1_700
PTX = r"""
extern "C" __global__ void ticks(unsigned long long* out, int count) {
  for (int i = 0; i < count; ++i) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out[i]));
}
extern "C" __global__ void discard(char* data, long long lines) {
  long long line = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (line < lines) asm volatile("discard.global.L2 [%0], 128;" :: "l"(data + line * 128) : "memory");
}
extern "C" void launch_ticks(unsigned long long* out, int count, cudaStream_t s) { ticks<<<1, 1, 0, s>>>(out, count); }
extern "C" void launch_discard(char* data, long long lines, cudaStream_t s) {
  discard<<<(lines + 255) / 256, 256, 0, s>>>(data, lines);
}
"""


def overhead() -> Iterator[Row]:
    """Five calibrations of one device."""
    device = CudaDevice()
    for number in range(5):
        told = device.calibration if number == 0 else calibrate(device)
        yield {name.replace("_ns", "_us"): value / 1e3 for name, value in told.items()}


def event_us(device: CudaDevice, work: Callable[[], Any]) -> float:
    """E of one call as the worker takes it: behind a flush, and while the device is held."""
    device.synchronize()
    clocks = Clocks(device)
    clocks.around(work)
    return clocks.event_ns() / 1e3


def floor() -> Iterator[Row]:
    """Two equal copies on buffers of their own, 60 times 10 calls each."""
    device = CudaDevice()
    for megabytes in (8, 256):
        one, two = (_copy(megabytes << 20) for _ in range(2))
        for _ in range(20):
            event_us(device, one), event_us(device, two)
        apart = [_sequential(device, one, two) for _ in range(REPEATS)]
        mixed = [_interleaved(device, one, two) for _ in range(REPEATS)]
        yield {"copy_mib": megabytes, "order": "one after the other", **error_of_equals(apart)}
        yield {"copy_mib": megabytes, "order": "interleaved", **error_of_equals(mixed)}


def _copy(size: int) -> Callable[[], Any]:
    source, target = (torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2))
    return lambda: target.copy_(source)


def _sequential(device: CudaDevice, one: Callable[[], Any], two: Callable[[], Any]) -> float:
    first, second = ([event_us(device, work) for _ in range(CALLS)] for work in (one, two))
    return statistics.median(first) / statistics.median(second)


def _interleaved(device: CudaDevice, one: Callable[[], Any], two: Callable[[], Any]) -> float:
    ratios = []
    for _ in range(CALLS):
        is_swapped = random.random() < 0.5
        times = [event_us(device, work) for work in ((two, one) if is_swapped else (one, two))]
        ratios.append(times[1] / times[0] if is_swapped else times[0] / times[1])
    return statistics.median(ratios)


def error_of_equals(ratios: Sequence[float]) -> Row:
    """How far ratios of equals are from 1, in per cent: bias, median and 95th percentile of the distance."""
    logs = [math.log(ratio) for ratio in ratios]
    distances = sorted(abs(value) for value in logs)
    return {
        "bias_%": 100 * statistics.median(logs),
        "median_%": 100 * statistics.median(distances),
        "p95_%": 100 * distances[min(len(distances) - 1, int(0.95 * len(distances)))],
        "repeats": len(logs),
    }


def dirty_lines() -> Iterator[Row]:
    """What a flush leaves in L2 is written back on somebody's account."""
    device, library = CudaDevice(), _library()
    cache = int(torch.cuda.get_device_properties(0).L2_cache_size)
    whole = device.flush
    flushes: dict[str, Callable[[], None]] = {
        "none": lambda: None,
        "written": lambda: _written(device),
        "written and read": whole,
    }
    if library is not None:
        flushes["written, discarded"] = lambda: _discard(device, library)
    for size in (cache // 2, 16 * cache):
        work = _copy(size)
        for name, flush in flushes.items():
            device.flush = flush  # type: ignore[method-assign]
            times = [event_us(device, work) for _ in range(25)][5:]
            middle = statistics.median(times)
            yield {"copy_mib": size >> 20, "flush": name, "us": middle, "gb_per_s": 2 * size / middle / 1e3}


def _written(device: CudaDevice) -> None:
    device._scratch.fill_(1)


def _discard(device: CudaDevice, library: ctypes.CDLL) -> None:
    device._scratch.fill_(1)
    lines = device._scratch.numel() // 128
    library.launch_discard(
        ctypes.c_void_p(device._scratch.data_ptr()), ctypes.c_longlong(lines), ctypes.c_void_p(device.stream())
    )


def _library() -> ctypes.CDLL | None:
    if (nvcc := shutil.which("nvcc")) is None:
        return None
    folder = Path(tempfile.mkdtemp())
    (folder / "checks.cu").write_text(PTX)
    target = folder / "checks.so"
    command = [nvcc, "-shared", "-Xcompiler", "-fPIC", "-arch=native", str(folder / "checks.cu"), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(target))


def power() -> Iterator[Row]:
    """The same product draws more power when bits change."""
    device, size = CudaDevice(), 8192
    for name in ("zeros", "randn", "zeros", "randn"):
        make: Callable[..., torch.Tensor] = getattr(torch, name)
        a, b = (make(size, size, dtype=torch.bfloat16, device="cuda") for _ in range(2))
        times = [event_us(device, lambda: a @ b) for _ in range(120)]  # noqa: B023 - called at once
        middle = statistics.median(times[60:])
        yield {"values": name, "us": middle, "tflop_per_s": 2 * size**3 / middle / 1e6}


def streams() -> Iterator[Row]:
    """E, E2 and W of 1 ms of work, by where it is done."""
    device = CudaDevice()
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    runtime = device._runtime._library
    blocking = ctypes.c_void_p()
    if runtime is not None:
        runtime.cudaStreamCreate(ctypes.byref(blocking))
    external = torch.cuda.ExternalStream(blocking.value or 0)  # type: ignore[no-untyped-call]
    graph, captured = torch.cuda.CUDAGraph(), torch.zeros(1 << 20, device="cuda")
    with torch.cuda.graph(graph):
        for _ in range(50):
            captured.add_(1)
    places: dict[str, Callable[[], Any]] = {
        "this stream": _sleep,
        "another, non-blocking": lambda: _on(aside, _sleep),
        "another, blocking": lambda: _on(external, _sleep),
        "a thread, other stream": lambda: _in_a_thread(lambda: _on(aside, _sleep)),
        "a graph, this stream": graph.replay,
        "a graph, other stream": lambda: _on(aside, graph.replay),
    }
    for name, work in places.items():
        told = [_read(device, work) for _ in range(12)][2:]
        yield {"work": name, **{key: statistics.median(each[key] for each in told) for key in told[0]}}


def _sleep() -> None:
    torch.cuda._sleep(1000 * CYCLES_PER_US)  # type: ignore[no-untyped-call]


def _on(stream: Any, work: Callable[[], Any]) -> None:
    with torch.cuda.stream(stream):
        work()


def _in_a_thread(work: Callable[[], Any]) -> None:
    threading.Thread(target=work).start()
    time.sleep(0.0002)


def _read(device: CudaDevice, work: Callable[[], Any]) -> Row:
    device.flush()
    device.synchronize()
    clocks = Clocks(device)
    clocks.around(work)
    return {name.replace("_ns", "_us"): value / 1e3 for name, value in clocks.read().items()}


def globaltimer() -> Iterator[Row]:
    """The steps of %globaltimer, as one thread sees them."""
    library = _library()
    if library is None:
        yield {"tick_ns": None, "note": "no nvcc"}
        return
    device, count = CudaDevice(), 20_000
    out = torch.zeros(count, dtype=torch.int64, device="cuda")
    library.launch_ticks(ctypes.c_void_p(out.data_ptr()), ctypes.c_int(count), ctypes.c_void_p(device.stream()))
    device.synchronize()
    yield ticks(out.tolist())


def ticks(values: Sequence[int]) -> Row:
    """Smallest and usual step of a clock, of those that are not zero."""
    steps = [later - earlier for earlier, later in zip(values, values[1:], strict=False) if later != earlier]
    usual = statistics.mode(steps) if steps else None
    return {"tick_ns": min(steps, default=None), "usual_ns": usual, "steps": len(steps), "reads": len(values)}


def profiler() -> Iterator[Row]:
    """Kernels of some 5, 20 and 100 us, by events without a profiler and by the profiler."""
    device = CudaDevice()
    for megabytes in (4, 32, 192):
        values = torch.zeros(megabytes << 18, device="cuda")
        events = statistics.median(event_us(device, lambda: values.add_(1)) for _ in range(15))  # noqa: B023
        kernels = statistics.median(profiled_us(device, lambda: values.add_(1)) for _ in range(6))  # noqa: B023
        yield {"mib": megabytes, "event_us": events, "kernel_us": kernels, "bias_us": events - kernels}


def profiled_us(device: CudaDevice, work: Callable[[], Any]) -> float:
    """How long the device worked for a call, by the profiler."""
    device.flush()
    device.synchronize()
    audit = profile.audited(device, Clocks(device), work)
    activities = tuple(Activity(**{**each, "grid": (), "block": ()}) for each in audit["activities"])
    return union_ns(Audit(activities)) / 1e3


def timers() -> Iterator[Row]:
    """Kernels of baselines/: E behind a flush, triton's do_bench, and a profiler."""
    from triton.testing import do_bench

    device = CudaDevice()
    for name, work in gpu_trials.baseline_calls(device):
        for _ in range(3):
            work()
        ours = statistics.median(event_us(device, work) for _ in range(30))
        theirs = float(do_bench(work, warmup=10, rep=60, return_mode="median")) * 1e3
        kernels = statistics.median(profiled_us(device, work) for _ in range(5))
        yield {"kernel": name, **compare(ours, theirs, kernels)}


def compare(ours_us: float, theirs_us: float, kernels_us: float) -> Row:
    """Our time over the two others."""
    return {
        "ours_us": ours_us,
        "do_bench_us": theirs_us,
        "profiler_us": kernels_us,
        "ours/do_bench": ours_us / theirs_us if theirs_us else None,
        "ours/profiler": ours_us / kernels_us if kernels_us else None,
    }


CHECKS: dict[str, Callable[[], Iterator[Row]]] = {
    "overhead": overhead,
    "floor": floor,
    "dirty_lines": dirty_lines,
    "power": power,
    "trips": gpu_trials.trips,
    "streams": streams,
    "turns": gpu_trials.turns,
    "globaltimer": globaltimer,
    "profiler": profiler,
    "timers": timers,
}

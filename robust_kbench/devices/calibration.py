"""`python -m robust_kbench.devices.calibration cpu|cuda [CORE]`: measure ceilings, print them as one JSON object.

Each rate is the median of 20 samples, the best one over a few formulations. Data are random: zeros cost less power, and
the clocks of a GPU are higher on them. Sizes grow until a product takes long enough to be measured, so that a unit that
is slow here (halves on a processor without them) does not take minutes.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from robust_kbench.devices import machine
from robust_kbench.devices.peaks import Unit

Action = Callable[[], Any]
Clock = Callable[[Action], float]

_SAMPLES = 20
_MIN_SAMPLES = 5
_WARM_UPS = 3
_BUDGET_S = 1.0
_LONGEST_PRODUCT_S = 0.15
_MAX_WORKING_SET_BYTES = 2 << 30
_CPU_CACHES, _CUDA_CACHES = 4, 16
_CPU_SIZES, _CUDA_SIZES = (256, 512, 1024), (1024, 2048, 4096, 8192)
_DTYPES: Mapping[Unit, torch.dtype] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "tf32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}


def main() -> None:
    """Measure the device that the command line names."""
    kind, core = sys.argv[1], sys.argv[2:]
    if core and core[0]:
        os.sched_setaffinity(0, {int(core[0])})
    torch.set_num_threads(1)
    print(json.dumps(measure_cpu() if kind == "cpu" else measure_cuda()))


def measure_cpu() -> dict[str, Any]:
    """Ceilings of one thread on one core."""
    cache_bytes = machine.last_level_cache_bytes()
    size_bytes = min(_CPU_CACHES * cache_bytes, _MAX_WORKING_SET_BYTES, machine.free_bytes() // 4)
    units: Sequence[Unit] = ("float64", "float32", "bfloat16", "float16")
    flops = {unit: product_rate(unit, "cpu", _CPU_SIZES, wall_clock) for unit in units}
    return {"cache_bytes": cache_bytes, **memory_rates(size_bytes, "cpu", wall_clock), "flops_per_s": flops}


def measure_cuda() -> dict[str, Any]:
    """Ceilings of the first visible CUDA device, by events."""
    properties = torch.cuda.get_device_properties(0)
    size_bytes = min(_CUDA_CACHES * properties.L2_cache_size, _MAX_WORKING_SET_BYTES, properties.total_memory // 8)
    units: list[Unit] = ["float64", "float32", "float16"]
    if properties.major >= 8:
        units += ["tf32", "bfloat16"]
    flops = {unit: product_rate(unit, "cuda", _CUDA_SIZES, event_clock) for unit in units}
    with contextlib.suppress(RuntimeError, AttributeError, TypeError):  # an old device, or another signature
        flops["fp8"] = fp8_rate(_CUDA_SIZES[-1])
    memory = memory_rates(size_bytes, "cuda", event_clock)
    return {"cache_bytes": properties.L2_cache_size, **memory, "flops_per_s": flops}


def memory_rates(size_bytes: int, device: str, clock: Clock) -> dict[str, float]:
    """Bytes/s of copying, reading and filling arrays of `size_bytes`."""
    source = torch.randn(size_bytes // 4, device=device)
    target = torch.zeros_like(source)
    integers = source.view(torch.int32)
    once = source.numel() * source.element_size()
    copies = (lambda: target.copy_(source), lambda: torch.neg(source, out=target))
    reads = (source.sum, source.amax, integers.amax, lambda: torch.dot(source, source))
    fills = (lambda: target.fill_(1.5), target.zero_)
    return {
        "copy_bytes_per_s": 2 * once / fastest(copies, clock),
        "read_bytes_per_s": once / fastest(reads, clock),
        "fill_bytes_per_s": once / fastest(fills, clock),
    }


def product_rate(unit: Unit, device: str, sizes: Sequence[int], clock: Clock) -> float:
    """Flop/s of the product of two square matrices, of the largest of `sizes` that does not take too long."""
    torch.backends.cuda.matmul.allow_tf32 = unit == "tf32"
    for size, larger in zip(sizes, [*sizes[1:], None], strict=True):
        a, b = (torch.randn(size, size, device=device).to(_DTYPES[unit]) for _ in range(2))
        run = _product(a, b)
        run()
        if larger is None or clock(run) * (larger / size) ** 3 > _LONGEST_PRODUCT_S:
            break
    return 2 * size**3 / median_s(run, clock)


def _product(a: torch.Tensor, b: torch.Tensor) -> Action:
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


def fp8_rate(size: int) -> float:
    """The same of `float8_e4m3fn`, which only some devices have. Raises RuntimeError elsewhere."""
    a, b = (torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones((), device="cuda")

    def run() -> object:
        return torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)

    return 2 * size**3 / median_s(run, event_clock)


def fastest(actions: Sequence[Action], clock: Clock) -> float:
    """Seconds of the formulation with the lowest median."""
    return min(median_s(action, clock) for action in actions)


def median_s(action: Action, clock: Clock) -> float:
    """The median of up to 20 samples in seconds, of fewer when they take more than a second altogether."""
    for _ in range(_WARM_UPS):
        action()
    return statistics.median(_samples(action, clock))


def _samples(action: Action, clock: Clock) -> Iterator[float]:
    started = time.monotonic()
    for number in range(_SAMPLES):
        if number >= _MIN_SAMPLES and time.monotonic() - started > _BUDGET_S:
            return
        yield clock(action)


def wall_clock(action: Action) -> float:
    """Seconds of one call that computes before it returns."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def event_clock(action: Action) -> float:
    """Seconds between two events around one call on the current stream."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    action()
    stop.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(stop)) / 1e3


if __name__ == "__main__":
    main()

"""PyTorch's profiler around a submission, inside the worker. Its output is the submission's claim about itself.

The judge loads `Profiled` in the submission's place, as a kernel of abi destination with one output more: a page of
bytes, which it fills with JSON.
"""

import contextlib
import ctypes
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from robust_kbench.worker import loaders

CALLS = 5
SUBMISSION = "submission"
_WARM_UP = 3
_MAX_OPERATORS = 40
_MAX_ACTIVITIES = 64
_MAX_NAME = 200
_TRACE = "trace.json"
_KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "fill"}


class Profiled:
    """Submission that is profiled whenever it is called.

    `request` names the kernel to load (abi, path, symbol), the number of `inputs` and the sizes of the `axes`.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self._kernel = loaders.load(request)
        self._abi, self._inputs, self._axes = request["abi"], request["inputs"], request["axes"]

    def __call__(self, *arguments: Any) -> None:
        """Profile a call with the task's inputs and outputs, and write the result to the page, the last argument."""
        *ordinary, page = arguments
        device = page.device.type
        call = bound(self._kernel, self._abi, ordinary, self._inputs, self._axes, device)
        for _ in range(_WARM_UP):
            call()
        body = json.dumps(_digest(call, device)).encode()[: page.numel()]
        text = torch.frombuffer(bytearray(body.ljust(page.numel())), dtype=torch.uint8)
        page.copy_(text)


def bound(
    kernel: loaders.Kernel, abi: str, ordinary: Sequence[Any], inputs: int, axes: Sequence[int], device: str
) -> Callable[[], Any]:
    """Bind `kernel`, called by `abi`, to arguments: `ordinary` are the task's inputs, so many, then its outputs."""
    if abi == "destination":
        return lambda: kernel(*ordinary)
    if abi in ("value", "torch"):
        return lambda: kernel(*ordinary[:inputs])
    native = [*map(_native, ordinary), *map(ctypes.c_int64, axes)]
    if device == "cuda":
        native.append(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    return lambda: kernel(*native)


def _native(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value)


def _digest(call: Callable[[], Any], device: str) -> dict[str, Any]:
    from torch.profiler import ProfilerActivity, profile, record_function

    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=kinds) as profiler:
        for _ in range(CALLS):
            with record_function(SUBMISSION):
                call()
        if device == "cuda":
            torch.cuda.synchronize()
    operators = sorted(map(_operator, profiler.key_averages()), key=lambda row: -max(row["self_us"], row["device_us"]))
    activities = []
    if device == "cuda":
        with contextlib.suppress(OSError, ValueError):
            profiler.export_chrome_trace(_TRACE)
            with open(_TRACE) as file:
                activities = list(_activities(json.load(file)["traceEvents"]))
    return {"calls": CALLS, "operators": operators[:_MAX_OPERATORS], "activities": activities[:_MAX_ACTIVITIES]}


def _operator(event: Any) -> dict[str, Any]:
    return {
        "name": event.key[:_MAX_NAME],
        "calls": event.count,
        "self_us": round(float(event.self_cpu_time_total), 3),
        "total_us": round(float(event.cpu_time_total), 3),
        "device_us": round(float(event.self_device_time_total), 3),
    }


def _activities(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the device's activities in the last call, or in all calls where these differ."""
    found = sorted((event for event in events if event.get("cat") in _KINDS), key=lambda event: float(event["ts"]))
    if len(found) % CALLS == 0:
        found = found[len(found) - len(found) // CALLS :]
    for event in found:
        details = event.get("args", {})
        yield {
            "kind": _KINDS[event["cat"]],
            "name": event["name"][:_MAX_NAME],
            "start_us": round(float(event["ts"]) - float(found[0]["ts"]), 3),
            "duration_us": round(float(event["dur"]), 3),
            "grid": details.get("grid", []),
            "block": details.get("block", []),
            "registers": int(details.get("registers per thread", 0)),
            "shared_bytes": int(details.get("shared memory", 0)),
        }

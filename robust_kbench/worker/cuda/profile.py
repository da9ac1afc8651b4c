"""A call under torch's profiler: what the device did, from before the call until it was idle again.

Two empty kernels mark the call's window on the profiler's own clock. A submission can launch such kernels too: then its
first one ends the window early, and what comes after it counts as late.
"""

import json
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

from robust_kbench.worker.cuda.clocks import Clocks, Device

MAX_ACTIVITIES = 128
_MAX_NAME = 120
_LINGER_S = 0.005
_KINDS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
_MARKER = "spin_kernel"


def audited(device: Device, clocks: Clocks, work: Callable[[], Any]) -> dict[str, Any]:
    """Carry out `work` between two markers under the profiler; returns an audit, see schema.agreement.Audit."""

    def marked() -> Any:
        device.launch_nothing()
        result = work()
        device.launch_nothing()
        return result

    device.flush()
    device.synchronize()
    kinds = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as profiler:
        clocks.around(marked, hold=0)  # it would be seen as part of the call
        time.sleep(_LINGER_S)  # what a thread starts now is late
        device.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        with open(file.name, "rb") as trace:
            return parse(json.load(trace))


def parse(trace: dict[str, Any]) -> dict[str, Any]:
    """An audit from a Chrome trace, in order of launch; times count from the first activity."""
    found = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") in _KINDS]
    found.sort(key=lambda event: int(event.get("args", {}).get("correlation", 0)))
    origin = min((float(event["ts"]) for event in found), default=0.0)
    activities = [_activity(event, origin) for event in found]
    markers = [number for number, activity in enumerate(activities) if _MARKER in activity["name"]][:2]
    if len(markers) < 2:
        return {"activities": [], "start_ns": 0, "stop_ns": 0, "has_markers": False, "dropped": 0}
    rest = [activity for number, activity in enumerate(activities) if number not in markers]
    return {
        "activities": rest[:MAX_ACTIVITIES],
        "start_ns": activities[markers[0]]["end_ns"],
        "stop_ns": activities[markers[1]]["start_ns"],
        "has_markers": True,
        "dropped": max(0, len(rest) - MAX_ACTIVITIES),
    }


def _activity(event: dict[str, Any], origin_us: float) -> dict[str, Any]:
    details = event.get("args", {})
    start_us = float(event["ts"]) - origin_us
    return {
        "kind": _KINDS[event["cat"]],
        "name": str(event.get("name", ""))[:_MAX_NAME],
        "start_ns": round(start_us * 1e3),
        "end_ns": round((start_us + float(event.get("dur", 0.0))) * 1e3),
        "stream": max(0, int(details.get("stream", 0))),
        "grid": [int(size) for size in details.get("grid", [])][:3],
        "block": [int(size) for size in details.get("block", [])][:3],
    }

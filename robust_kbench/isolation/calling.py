"""The memory of calls, and the way of making them, that go with a kind of device."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from robust_kbench.isolation.arena import Arena, Slots
from robust_kbench.isolation.calls import Caller

if TYPE_CHECKING:
    from robust_kbench.devices import Device
    from robust_kbench.isolation.device_calls import Aside, DeviceCaller
    from robust_kbench.schema.task import Task

_RESULTS_PER_CALL = 6
_LEAST_RESULTS_BYTES, _MOST_RESULTS_BYTES = 256 << 20, 8 << 30
CONTEXT_BYTES = 600 << 20
_ROOM = 2  # see checking.crew
_SHARE_OF_FREE = 0.05  # there are several workers, which have memory of their own too


def open_arena(device: Device, call_bytes: int, spare_bytes: int) -> Slots:
    """Open memory for calls that take `call_bytes`, and `spare_bytes` more so that no address is foretold.

    On a CUDA device it also has a region for what a worker allocates in a call, several times as large as a call.
    """
    if device.kind == "cpu":
        return Arena(call_bytes + spare_bytes)
    from robust_kbench.isolation.device_arena import DeviceArena  # needs a driver

    return DeviceArena(call_bytes + spare_bytes, _results_bytes(device, call_bytes))


def worker_bytes(device: Device, call_bytes: int) -> int:
    """Tell how much of a CUDA device's memory one more worker takes: its arena, its context, and as much as a call."""
    return _ROOM * call_bytes + _results_bytes(device, call_bytes) + CONTEXT_BYTES + call_bytes


def _results_bytes(device: Device, call_bytes: int) -> int:
    most_bytes = min(_MOST_RESULTS_BYTES, int(_SHARE_OF_FREE * (device.free_bytes() or 0)))
    return max(_LEAST_RESULTS_BYTES, min(_RESULTS_PER_CALL * call_bytes, most_bytes))


def open_caller(
    device: Device, task: Task, arena: Slots, *, timeout_s: float, place: str = "cpu", aside: Aside = nullcontext
) -> Caller | DeviceCaller:
    """Open what calls workers on `device`; `place`: the kind of device on which answers of timed calls are judged.

    `aside`: entered on a CUDA device while a worker's host is waited for.
    """
    if device.kind == "cpu":
        return Caller(task, arena, copy_out=device.copies_out, timeout_s=timeout_s, place=place)
    from robust_kbench.isolation.device_calls import DeviceCaller

    return DeviceCaller(task, timeout_s=timeout_s, place=place, aside=aside)

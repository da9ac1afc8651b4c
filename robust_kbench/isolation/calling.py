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
_SHARE_OF_FREE = 0.05  # there are several workers, which have memory of their own too


def open_arena(device: Device, call_bytes: int, spare_bytes: int) -> Slots:
    """Open memory for calls that take `call_bytes`, and `spare_bytes` more so that no address is foretold.

    On a CUDA device it also has a region for what a worker allocates in a call, several times as large as a call.
    """
    if device.kind == "cpu":
        return Arena(call_bytes + spare_bytes)
    from robust_kbench.isolation.device_arena import DeviceArena  # needs a driver

    most_bytes = min(_MOST_RESULTS_BYTES, int(_SHARE_OF_FREE * (device.free_bytes() or 0)))
    results_bytes = max(_LEAST_RESULTS_BYTES, min(_RESULTS_PER_CALL * call_bytes, most_bytes))
    return DeviceArena(call_bytes + spare_bytes, results_bytes)


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

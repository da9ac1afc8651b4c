"""Events and the worker's wall clock around a piece of work, and what they show when there is none."""

import statistics
import time
from collections.abc import Callable
from typing import Any, Protocol

_now_ns = time.perf_counter_ns  # bound before any submission is loaded
_EMPTY_PAIRS = 100
_EMPTY_CALLS = 30


class Event(Protocol):
    """A point in the order of a stream, as torch.cuda.Event."""

    def record(self) -> None:
        """Mark the current stream's present end."""

    def synchronize(self) -> None:
        """Wait until it was passed."""

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds from here to `end`."""


class Device(Protocol):
    """What clocks need of a device."""

    def event(self) -> Event:
        """A new event."""

    def synchronize(self) -> None:
        """Wait for every stream."""

    def flush(self) -> None:
        """Queue what empties the cache."""

    def hold(self, times: int = 1) -> None:
        """Queue what empties the cache, then what keeps the whole device busy while the host launches."""

    def launch_nothing(self) -> None:
        """Launch a kernel that does nothing."""


class Clocks:
    """E, E2 and W of one piece of work, and how long the host was at it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._start, self._stop, self._joined = device.event(), device.event(), device.event()
        self._host_ns = self._wall_ns = 0

    def around(self, work: Callable[[], Any], *, hold: int = 1) -> Any:
        """Carry out `work` between two events, wait for every stream, and mark that moment too.

        `hold`: for how long, in units of a usual hold, the device is still busy with something else when the host
        begins to launch, so that the events see the device at work and not the host's launches, which cost a short
        kernel several times its own time.
        """
        if hold:
            self._device.hold(hold)
        began = _now_ns()
        self._start.record()
        result = work()
        self._stop.record()
        self._host_ns = _now_ns() - began
        self._device.synchronize()
        self._joined.record()
        self._wall_ns = _now_ns() - began
        return result

    def event_ns(self) -> int:
        """E."""
        return between_ns(self._start, self._stop)

    def read(self) -> dict[str, int]:
        """All times; waits for the last event."""
        self._joined.synchronize()
        return {
            "event_ns": self.event_ns(),
            "join_ns": between_ns(self._start, self._joined),
            "wall_ns": self._wall_ns,
            "host_ns": self._host_ns,
        }


def between_ns(start: Event, stop: Event) -> int:
    """Time between two events that were passed."""
    return max(0, int(start.elapsed_time(stop) * 1e6))


def calibrate(device: Device) -> dict[str, int]:
    """What an empty call costs: see schema.agreement.Calibration. Takes some 10 ms."""
    pairs = [(device.event(), device.event()) for _ in range(_EMPTY_PAIRS)]
    device.flush()  # while the device is at it, all pairs are queued: no gap of the host falls between them
    for start, stop in pairs:
        start.record()
        stop.record()
    device.synchronize()
    calls = [_empty_call(device) for _ in range(_EMPTY_CALLS)][_EMPTY_CALLS // 3 :]
    walls = [call["wall_ns"] - call["event_ns"] for call in calls]
    joins = [call["join_ns"] - call["event_ns"] for call in calls]
    return {
        "event_ns": _median(between_ns(start, stop) for start, stop in pairs),
        "launch_ns": _median(call["event_ns"] for call in calls),
        "wall_gap_ns": _median(walls),
        "join_gap_ns": _median(joins),
        "spread_ns": max(_spread(walls), _spread(joins)),
    }


def _empty_call(device: Device) -> dict[str, int]:
    clocks = Clocks(device)
    device.synchronize()
    clocks.around(device.launch_nothing)
    return clocks.read()


def _median(values: Any) -> int:
    return max(0, int(statistics.median(values)))


def _spread(values: list[int]) -> int:
    centre = statistics.median(values)
    return _median(abs(value - centre) for value in values)

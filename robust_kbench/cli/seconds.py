"""Table of the time that an evaluation took, for `kbench evaluate --profile-harness`."""

from __future__ import annotations

from collections.abc import Iterator

from robust_kbench.schema.record import Seconds

_STAGES = ("start", "build", "check", "timing")
_PARTS = ("kernels", "inputs", "judging", "workers", "calls")


def table(seconds: Seconds) -> Iterator[str]:
    """Yield a line for each stage, and for each part of checks and timing, with its share of the total.

    Parts of checks that run side by side add up to more than the stage. There is no rest then.
    """
    stages = {name: getattr(seconds, name) for name in _STAGES}
    parts = {name: getattr(seconds, name) for name in _PARTS}
    inside = seconds.check + seconds.timing - sum(parts.values())
    yield "  seconds"
    for name, value in (*stages.items(), ("the rest", seconds.total - sum(stages.values()))):
        yield _line(name, value, seconds.total)
    yield "  of check and timing"
    for name, value in (*parts.items(), ("the rest", max(0.0, inside))):
        yield _line(name, value, seconds.total)


def _line(name: str, value: float, total: float) -> str:
    share = value / total if total else 0.0
    return f"    {name:9} {value:8.1f} {share:6.1%}"

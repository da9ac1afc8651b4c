"""Wall time of an evaluation, by stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from robust_kbench.schema.record import Seconds

Stage = Literal["start", "build", "check", "timing", "kernels", "inputs", "judging", "workers", "calls"]


class Stopwatch:
    """Sum of seconds by stage; those from `kernels` on lie within `check` and `timing`."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._seconds: dict[Stage, float] = {}

    @contextmanager
    def measure(self, stage: Stage) -> Iterator[None]:
        """Add the time that is spent in the block to `stage`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(stage, time.perf_counter() - started)

    def add(self, stage: Stage, seconds: float) -> None:
        """Add `seconds` to the time of `stage`."""
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds

    def result(self) -> Seconds:
        """Return the time of all stages so far, and the total since the stopwatch was made."""
        rounded = {stage: round(seconds, 4) for stage, seconds in self._seconds.items()}
        return Seconds(**rounded, total=round(time.perf_counter() - self._started, 4))

"""The memory of a CUDA device for the crews of one submission, and what is done where it is short."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robust_kbench.checking.crew import Crew
    from robust_kbench.isolation.process import Worker


class Room:
    """Crews that share the memory. All methods are called by the thread that judges."""

    def __init__(self, make_room: Callable[[], bool] = lambda: False) -> None:
        """`make_room`: give back what others hold that can do without it, and tell if that was anything."""
        self.make_room = make_room
        self.crews: list[Crew] = []
        self.starting = 0
        """Number of workers that some thread is starting, which nobody can end yet."""
        self.is_short = False
        """Whether it was found to be too little for several workers: from then on one is called at a time, alone."""

    @property
    def workers(self) -> list[Worker]:
        """All workers of all crews."""
        return [worker for crew in self.crews for worker in crew.workers]

    def run_short(self) -> None:
        """Have one worker at a time from now on."""
        self.is_short = True
        self.clear()

    def clear(self, but: Worker | None = None) -> None:
        """End all workers; `but`: one that stays."""
        for crew in self.crews:
            crew.end_others(but)

"""Memory of a CUDA device for the crews of one submission, and the measures where it is short."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robust_kbench.checking.crew import Crew
    from robust_kbench.isolation.process import Worker


class Room:
    """Crews that share the memory. The thread that judges calls all methods."""

    def __init__(self, make_room: Callable[[], bool] = lambda: False) -> None:
        """Start without crews. `make_room` frees memory that its holders can do without, and tells if there was any."""
        self.make_room = make_room
        self.crews: list[Crew] = []
        self.starting = 0
        """Number of workers that some thread is starting, which cannot be ended yet."""
        self.is_short = False
        """True once the memory was too little for several workers: from then on one is called at a time, alone."""

    @property
    def workers(self) -> list[Worker]:
        """Workers of all crews that share the memory."""
        return [worker for crew in self.crews for worker in crew.workers]

    def run_short(self) -> None:
        """End all workers, and have one at a time from now on."""
        self.is_short = True
        self.clear()

    def clear(self, but: Worker | None = None) -> None:
        """End all workers except `but`, if it is given."""
        for crew in self.crews:
            crew.end_others(but)

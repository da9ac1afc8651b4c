"""Memory of timed calls: on a CUDA device an arena for each contestant, which its workers have one after the other."""

from __future__ import annotations

import threading

from robust_kbench.isolation.arena import Slots


class Arenas:
    """Arenas by the names of contestants.

    A worker may map an arena while its predecessor is still called; nothing of a submission is loaded in it by then.
    """

    def __init__(self, common: Slots) -> None:
        """`common`: what all workers share on the cpu device; on a CUDA device each contestant's is like it."""
        self.common = common
        """Memory in which the judge's own work is measured, which no worker maps on a CUDA device."""
        self._own: dict[str, Slots] = {}
        self.is_spoilt = False
        """Whether workers that are open already may map an arena that must not be used any more."""
        self._lock = threading.Lock()  # workers of later turns are opened beside those of the first one

    def of(self, name: str) -> Slots:
        """The arena of a contestant. Raises HarnessError where the device has no memory for it."""
        with self._lock:
            if name not in self._own:
                self._own[name] = self.common.for_a_worker()
            return self._own[name]

    def __len__(self) -> int:
        """Number of arenas that have memory of their own."""
        return sum(arena is not self.common for arena in self._own.values())

    def abandon(self, name: str) -> None:
        """Never use the arena of a contestant again: one of its workers may not be gone. Its memory is lost."""
        self.is_spoilt |= self._own.pop(name, self.common) is not self.common

    def wipe(self) -> None:
        """Forget what earlier workers have left there. None of them may be alive."""
        for arena in self._own.values():
            if arena is not self.common:
                arena.wipe()

    def close(self) -> None:
        """Give all back but the common one, which belongs to the caller."""
        for arena in self._own.values():
            if arena is not self.common:
                arena.close()
        self._own.clear()

"""Dealing checks out to sessions, so that no submission foretells which session looks at what."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")

_AGAIN = 0.05
"""Chance of an item in a session to which it was not dealt. Else nothing would be looked at twice."""


class Deal(Generic[Item]):
    """Every item for every timed case, in one of its sessions; where each has a single one, in that of some case.

    Each item is dealt by itself: what one session looks at tells nothing of the others.
    """

    def __init__(self, items: Sequence[Item], cases: int, sessions: int, *, is_single: bool) -> None:
        """`sessions`: among how many of a case its items are shared out. `is_single`: each case has one session."""
        self._items, self._cases, self._sessions, self._is_single = items, cases, sessions, is_single
        self._random = random.SystemRandom()
        self._places: dict[tuple[int, ...], list[int]] = {}

    def of(self, number: int, turn: int) -> list[Item]:
        """Items of session `turn` of timed case `number`."""
        round_, place = divmod(turn, self._sessions)
        key, due, most = ((), number, self._cases) if self._is_single else ((number, round_), place, self._sessions)
        if key not in self._places:
            self._places[key] = [self._random.randrange(most) for _ in self._items]
        places = zip(self._items, self._places[key], strict=True)
        return [item for item, dealt in places if dealt == due or self._random.random() < _AGAIN]

"""Memory of timed calls: an arena for each contestant, which its workers have one after the other."""

from __future__ import annotations

from typing import Any, cast

from robust_kbench.isolation.arena import Slots
from robust_kbench.timing.arenas import Arenas


class Own:
    def __init__(self) -> None:
        self.done = list[str]()

    def for_a_worker(self) -> Own:
        return Own()

    def wipe(self) -> None:
        self.done.append("wiped")

    def close(self) -> None:
        self.done.append("closed")


class Shared(Own):
    def for_a_worker(self) -> Shared:
        return self


def test_each_contestant_has_one_which_it_keeps_and_which_is_wiped_and_closed() -> None:
    common = Own()
    arenas = Arenas(cast("Slots", common))
    first, second = (cast("Any", arenas.of(name)) for name in ("candidate", "eager"))
    assert len({id(common), id(first), id(second)}) == 3
    assert cast("Any", arenas.of("candidate")) is first
    arenas.wipe()
    arenas.close()
    arenas.close()
    assert first.done == second.done == ["wiped", "closed"]
    assert common.done == []
    later: Any = arenas.of("candidate")
    assert later is not first


def test_memory_that_all_share_is_left_alone() -> None:
    common = Shared()
    arenas = Arenas(cast("Slots", common))
    assert cast("Any", arenas.of("candidate")) is common
    arenas.wipe()
    arenas.close()
    assert common.done == []


def test_an_arena_that_something_may_still_write_to_is_never_used_again() -> None:
    arenas = Arenas(cast("Slots", Own()))
    first: Any = arenas.of("candidate")
    arenas.abandon("candidate")
    assert len(arenas) == 0
    arenas.wipe()
    arenas.close()
    assert first.done == []
    assert cast("Any", arenas.of("candidate")) is not first
    assert len(arenas) == 1

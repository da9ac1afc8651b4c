"""Threads that grow in number from call to call."""

from __future__ import annotations

from typing import Any

from specimens import make_case, make_observation

from robust_kbench.guards import threads
from robust_kbench.schema.observation import Observation

OTHER = make_case(role="timed", axes={"rows": 1, "cols": 1})


def calls(count: int, before: int | None = None, after: int | None = None, **changes: Any) -> list[Observation]:
    fields = {"case": make_case(role="timed"), "threads_before": before, "threads_after": after, **changes}
    return [make_observation(**fields) for _ in range(count)]


def test_threads_that_grow_in_every_call_are_a_warning() -> None:
    (finding,) = threads.inspect(calls(8, 3, 4))
    assert (finding.guard, finding.severity) == ("threads", "warn")
    assert (finding.message, finding.evidence) == ("every call leaves 1 threads behind", {"growth": 1.0})


def test_a_pool_that_grows_in_the_first_calls_is_no_finding() -> None:
    growing = [call for n in range(4) for call in calls(1, n, n + 1)]
    assert list(threads.inspect([*growing, *calls(8, 5, 5)])) == []


def test_what_is_unknown_is_no_finding() -> None:
    assert list(threads.inspect(calls(8))) == []


def test_a_few_calls_are_not_enough() -> None:
    assert list(threads.inspect(calls(3, 3, 4))) == []
    assert len(list(threads.inspect(calls(4, 3, 4)))) == 1


def test_shapes_are_judged_by_themselves_and_one_of_them_is_told() -> None:
    seen = [*calls(30, 5, 5), *calls(8, 3, 5, case=OTHER)]
    (finding,) = threads.inspect(seen)
    assert (finding.case, finding.evidence["growth"]) == (str(OTHER), 2.0)
    assert len(list(threads.inspect([*calls(8, 3, 4), *calls(8, 3, 4, case=OTHER)]))) == 1

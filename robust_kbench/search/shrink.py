"""Shrinking of a failing case to the simplest one that fails in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import Phase
from hypothesis import strategies as st

from robust_kbench.schema.case import Case
from robust_kbench.schema.record import CaseResult
from robust_kbench.search.engine import find
from robust_kbench.search.trials import Trials

if TYPE_CHECKING:
    from robust_kbench.cases.space import Space

_SPREAD = 8  # seven draws of eight are the known failure's
Item = TypeVar("Item")


def shrink(space: Space, seed: int, trials: Trials, failing: CaseResult, examples: int) -> CaseResult:
    """Return the simplest case that fails as `failing` does, or `failing` itself if none does.

    The search goes as far as the allowance of `trials`. A case that fails in another way, with a small error instead of
    a NaN or by another property, would lead its reader astray. The values keep their seed.
    """
    options = _simpler(space, failing)

    def at(places: tuple[int, ...]) -> CaseResult | None:
        probe, dtype, layout, distribution, *sizes = (each[place] for each, place in zip(options, places, strict=True))
        case = Case(
            axes=dict(zip(failing.axes, sizes, strict=True)),
            dtype=dtype, layout=layout, distribution=distribution, probe=probe, seed=failing.seed,
        )  # fmt: skip
        is_possible = case.axes == failing.axes or space.admits(case.axes, case.dtype)
        result = trials.result(case) if is_possible else None
        return result if result is not None and _end(result) == _end(failing) else None

    def fails(places: tuple[int, ...]) -> bool:
        return at(places) is not None

    strategy = st.tuples(*(_up_to(len(each)) for each in options))
    found = find(strategy, fails, seed=seed, examples=examples, phases=[Phase.generate, Phase.shrink])
    return (at(found) if found else None) or failing


def _end(result: CaseResult) -> tuple[str, str]:
    return result.status, result.kind


def _simpler(space: Space, failing: CaseResult) -> list[list[Any]]:
    """List for each part of a case the options that are at most as complex as in `failing`.

    The parts are in the order in which they are simplified. The simplest option comes first and that of `failing` last.
    """
    return [
        [None, failing.probe] if failing.probe else [None],
        [*_before(space.dtypes, failing.dtype), failing.dtype],
        [*_before(space.layouts, failing.layout), failing.layout],
        [*_before(space.distributions, failing.distribution), failing.distribution],
        *([*_smaller(space.sizes(name), size), size] for name, size in failing.axes.items()),
    ]


def _before(options: Sequence[Item], own: Item) -> Sequence[Item]:
    return options[: options.index(own)] if own in options else options


def _smaller(sizes: Sequence[int], own: int) -> Sequence[int]:
    return [size for size in sizes if size < own]


def _up_to(count: int) -> st.SearchStrategy[int]:
    """Return a strategy of integers below `count` that shrink to the smallest, and are the last one most often.

    A search that starts from a known failure has to draw that first.
    """
    return st.integers(0, _SPREAD * (count - 1)).map(lambda place: min(count - 1, place))

"""Random cases of a space, the later ones where errors come nearest to their limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hypothesis import Phase, assume, target
from hypothesis import strategies as st

from robust_kbench.cases.draw import Draw
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import CaseResult
from robust_kbench.schema.task import FloatDType
from robust_kbench.search.engine import find
from robust_kbench.search.trials import FAILURES, Trials

if TYPE_CHECKING:
    from robust_kbench.cases.space import Space

_CLIMBS_FROM = 200  # with fewer examples, climbing towards large errors would take too many from the breadth


def explore(space: Space, seed: int, trials: Trials, examples: int, at_once: int = 1) -> CaseResult | None:
    """The first failure among at most `examples` cases, so many of which are judged `at_once` if they are few."""
    if at_once > 1 and examples < _CLIMBS_FROM:
        return _first_failure(trials.results(_drawn(space, seed, examples), at_once))
    found: list[CaseResult] = []

    def fails(case: Case) -> bool:
        if not found and (result := trials.result(case)) is not None:
            if result.status in FAILURES:
                found.append(result)
            elif (ratio := result.error_ratio) is not None and math.isfinite(ratio):
                target(ratio)
        return bool(found)

    phases = [Phase.generate, Phase.target] if examples >= _CLIMBS_FROM else [Phase.generate]
    find(_cases(space, seed), fails, seed=seed, examples=examples, phases=phases)
    return found[0] if found else None


def _drawn(space: Space, seed: int, examples: int) -> list[Case]:
    """The cases that are looked at as long as none fails."""
    cases: list[Case] = []

    def keep(case: Case) -> bool:
        cases.append(case)
        return False

    find(_cases(space, seed), keep, seed=seed, examples=examples, phases=[Phase.generate])
    return cases


def _first_failure(results: Sequence[CaseResult | None]) -> CaseResult | None:
    return next((result for result in results if result is not None and result.status in FAILURES), None)


@st.composite
def _cases(draw: st.DrawFn, space: Space, seed: int) -> Case:
    """Any case of `space`; its values follow from the rest of it and from the evaluation's seed."""
    dtype = draw(st.sampled_from(space.dtypes))
    layout = draw(st.sampled_from(space.layouts))
    distribution = draw(st.sampled_from(space.distributions))
    names = list(space.task.axes)
    axes = {name: space.sizes(name)[0] for name in names}
    for name in draw(st.permutations(names)):  # what one axis takes of the budget, the next ones lack
        sizes = space.sizes(name)
        last = _last(sizes, partial(_admits, space, axes, dtype, name))
        axes[name] = sizes[draw(_places(sizes, last))]
    assume(space.admits(axes, dtype))
    values = Draw(seed, f"search {axes} {dtype} {layout} {distribution}").bits()
    return Case(axes=axes, dtype=dtype, layout=layout, distribution=distribution, seed=values)


def _admits(space: Space, axes: Mapping[str, int], dtype: FloatDType, name: str, size: int) -> bool:
    return space.admits({**axes, name: size}, dtype)


def _places(sizes: Sequence[int], last: int) -> st.SearchStrategy[int]:
    """Places up to `last` in `sizes`: small ones, both sides of powers of two, and of every order of magnitude."""
    beside = [(1 << exponent) + step for exponent in range(sizes[last].bit_length() + 1) for step in (-1, 0, 1)]
    edges = sorted({sizes.index(size) for size in beside if size in sizes and size <= sizes[last]})
    magnitudes = st.integers(0, last.bit_length()).flatmap(lambda bits: st.integers(0, min(last, 1 << bits)))
    return st.one_of(st.integers(0, min(last, 64)), st.sampled_from(edges or [0]), magnitudes)


def _last(sizes: Sequence[int], admits: Callable[[int], bool]) -> int:
    """The place of the largest size that is admitted, where sizes get too large at some point; else the last."""
    low, high = 0, len(sizes) - 1
    if not admits(sizes[low]):
        return high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if admits(sizes[middle]) else (low, middle - 1)
    return low

"""What the rule said about the variants of a task: facts first, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import NamedTuple

from robust_kbench.audit.variants import Kind
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Layout

NEAR_LIMIT = 10.0
"""A mutant is near when its error is at most this many times the limit."""


class Outcome(NamedTuple):
    """One variant on one case, by its number.

    `is_equal`: to PyTorch's answer. `peers`: who accepts. `prop`: the kind of the property that was tried, if it was
    one, whose error has no size. `reason`: why an honest variant was refused.
    """

    case: int
    ratio: float
    is_accepted: bool
    is_equal: bool
    peers: tuple[bool, ...] = ()
    prop: str = ""
    reason: str = ""


def counts_for(outcome: Outcome, case: Case, layout: Layout) -> bool:
    """Whether a kill by `case` is one in `layout`.

    Probes and properties are not tried in every layout, but their values do not depend on it, except for a slice that
    is repeated.
    """
    is_special = case.probe is not None or bool(outcome.prop)
    return case.layout == layout or (is_special and layout != "expanded")


@dataclass(frozen=True)
class Tally:
    """One variant in one dtype."""

    name: str
    kind: Kind
    description: str
    is_generic: bool
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def is_different(self) -> bool:
        """Whether it ever gave something else than PyTorch: if not, it is no variant here."""
        return any(not outcome.is_equal for outcome in self.outcomes)

    @property
    def sized(self) -> list[Outcome]:
        """Those that have an error."""
        return [outcome for outcome in self.outcomes if not outcome.prop]

    @property
    def refused(self) -> list[Outcome]:
        """What kills it."""
        return [outcome for outcome in self.outcomes if not outcome.is_accepted]

    @property
    def largest(self) -> float:
        """The largest error in units of its limit."""
        return max((outcome.ratio for outcome in self.sized), default=0.0)


@dataclass(frozen=True)
class Trial:
    """All variants of one task in one dtype. The first cases, `first_round` of them, were judged for every variant."""

    task: str
    dtype: str
    cases: tuple[Case, ...]
    first_round: int
    tallies: tuple[Tally, ...]

    def of(self, *kinds: Kind) -> list[Tally]:
        """The variants of these kinds; of wrong ones, those that differ from PyTorch somewhere."""
        return [t for t in self.tallies if t.kind in kinds and t.outcomes and (t.kind == "honest" or t.is_different)]

    def is_idle(self, tally: Tally) -> bool:
        """Whether a variant applied to drawn cases, and was PyTorch's answer in all of them."""
        drawn = [outcome for outcome in tally.sized if self.cases[outcome.case].probe is None]
        return bool(drawn) and all(outcome.is_equal for outcome in drawn)

    @cached_property
    def spread(self) -> dict[int, float]:
        """The largest error of an honest variant on each case, in units of its limit."""
        spread: dict[int, float] = {}
        for tally in self.of("honest"):
            for outcome in tally.sized:
                spread[outcome.case] = max(spread.get(outcome.case, 0.0), outcome.ratio)
        return spread

    def showing(self, tally: Tally) -> list[Outcome]:
        """The drawn cases on which a variant is further off than every honest one."""
        drawn = [outcome for outcome in tally.sized if self.cases[outcome.case].probe is None]
        return [outcome for outcome in drawn if outcome.ratio > self.spread.get(outcome.case, 0.0)]

    def distance(self, tally: Tally) -> float:
        """The median error of a variant over the cases in which it shows, in units of the limit; 0 if it never does."""
        return median([outcome.ratio for outcome in self.showing(tally)] or [0.0])

    def median_ratio(self, tally: Tally) -> float:
        """The median error of a variant, in units of the limit."""
        return median([outcome.ratio for outcome in tally.sized] or [0.0])

    def median_honest(self, tally: Tally) -> float:
        """On the cases that a variant was judged on, the median of the honest ones' largest error."""
        return median([self.spread.get(outcome.case, 0.0) for outcome in tally.sized] or [0.0])

    def largest_honest(self, tally: Tally) -> float:
        """On the cases that a variant was judged on, the largest error of an honest one."""
        return max((self.spread.get(outcome.case, 0.0) for outcome in tally.sized), default=0.0)

    def is_near(self, tally: Tally) -> bool:
        """Whether a wrong variant is hard to tell from an honest one."""
        return 0.0 < self.distance(tally) <= NEAR_LIMIT

    def layouts_passed(self, tally: Tally) -> list[Layout]:
        """Layouts in which a wrong variant shows and is refused by no case."""
        shown = {self.cases[outcome.case].layout for outcome in self.showing(tally)}
        return sorted(
            layout
            for layout in shown
            if not any(counts_for(outcome, self.cases[outcome.case], layout) for outcome in tally.refused)
        )

"""Results of the rule on the variants of a task: facts first, then conclusions from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import NamedTuple

from robust_kbench.audit.variants import Kind
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Layout

NEAR_LIMIT = 10.0
"""Largest error of a near mutant, in units of the limit."""


class Outcome(NamedTuple):
    """Outcome of one variant on one case, which is given by its number.

    `is_equal`: True if the answer equals PyTorch's. `peers`: for each peer, True if it accepts the answer. `prop`: the
    kind of the property that was tried, if it was one; its error has no size. `reason`: why an honest variant was
    refused.
    """

    case: int
    ratio: float
    is_accepted: bool
    is_equal: bool
    peers: tuple[bool, ...] = ()
    prop: str = ""
    reason: str = ""


def counts_for(outcome: Outcome, case: Case, layout: Layout) -> bool:
    """Tell if a kill by `case` counts as one in `layout`.

    Probes and properties are not tried in every layout. Their values do not depend on it, except for a slice that is
    repeated.
    """
    is_special = case.probe is not None or bool(outcome.prop)
    return case.layout == layout or (is_special and layout != "expanded")


@dataclass(frozen=True)
class Tally:
    """Outcomes of one variant in one dtype."""

    name: str
    kind: Kind
    description: str
    is_generic: bool
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def is_different(self) -> bool:
        """True if the variant ever differed from PyTorch's answer. If not, it is no variant here."""
        return any(not outcome.is_equal for outcome in self.outcomes)

    @property
    def sized(self) -> list[Outcome]:
        """Outcomes that have an error, unlike those of properties."""
        return [outcome for outcome in self.outcomes if not outcome.prop]

    @property
    def refused(self) -> list[Outcome]:
        """Outcomes that refuse the variant and so kill it."""
        return [outcome for outcome in self.outcomes if not outcome.is_accepted]

    @property
    def largest(self) -> float:
        """Largest error of the variant, in units of its limit."""
        return max((outcome.ratio for outcome in self.sized), default=0.0)


@dataclass(frozen=True)
class Trial:
    """Tallies of all variants of one task in one dtype.

    The first cases, `first_round` of them, were judged for every variant.
    """

    task: str
    dtype: str
    cases: tuple[Case, ...]
    first_round: int
    tallies: tuple[Tally, ...]

    def of(self, *kinds: Kind) -> list[Tally]:
        """Select the variants of these kinds that were tried; wrong ones only if they differ from PyTorch somewhere."""
        return [t for t in self.tallies if t.kind in kinds and t.outcomes and (t.kind == "honest" or t.is_different)]

    def is_idle(self, tally: Tally) -> bool:
        """Tell if a variant applied to drawn cases, and gave PyTorch's answer in all of them."""
        drawn = [outcome for outcome in tally.sized if self.cases[outcome.case].probe is None]
        return bool(drawn) and all(outcome.is_equal for outcome in drawn)

    @cached_property
    def spread(self) -> dict[int, float]:
        """Largest error of any honest variant on each case, in units of its limit."""
        spread: dict[int, float] = {}
        for tally in self.of("honest"):
            for outcome in tally.sized:
                spread[outcome.case] = max(spread.get(outcome.case, 0.0), outcome.ratio)
        return spread

    def showing(self, tally: Tally) -> list[Outcome]:
        """Select the outcomes on drawn cases in which a variant is further off than every honest one."""
        drawn = [outcome for outcome in tally.sized if self.cases[outcome.case].probe is None]
        return [outcome for outcome in drawn if outcome.ratio > self.spread.get(outcome.case, 0.0)]

    def distance(self, tally: Tally) -> float:
        """Compute the median error of a variant where it shows, in units of the limit; 0 if it never does."""
        return median([outcome.ratio for outcome in self.showing(tally)] or [0.0])

    def median_ratio(self, tally: Tally) -> float:
        """Compute the median error of a variant, in units of the limit."""
        return median([outcome.ratio for outcome in tally.sized] or [0.0])

    def median_honest(self, tally: Tally) -> float:
        """Compute the median of the largest honest errors over the cases that a variant was judged on."""
        return median([self.spread.get(outcome.case, 0.0) for outcome in tally.sized] or [0.0])

    def largest_honest(self, tally: Tally) -> float:
        """Find the largest honest error on the cases that a variant was judged on."""
        return max((self.spread.get(outcome.case, 0.0) for outcome in tally.sized), default=0.0)

    def is_near(self, tally: Tally) -> bool:
        """Tell if a wrong variant is hard to distinguish from an honest one."""
        return 0.0 < self.distance(tally) <= NEAR_LIMIT

    def layouts_passed(self, tally: Tally) -> list[Layout]:
        """List the layouts in which a wrong variant shows and is refused by no case."""
        shown = {self.cases[outcome.case].layout for outcome in self.showing(tally)}
        return sorted(
            layout
            for layout in shown
            if not any(counts_for(outcome, self.cases[outcome.case], layout) for outcome in tally.refused)
        )

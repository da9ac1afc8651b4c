"""Chance that a single evaluation refuses a mutant. An audit tries many cases, an evaluation draws only a few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from robust_kbench.audit.tally import Tally, Trial
from robust_kbench.cases.suite import BUDGETS
from robust_kbench.schema.record import Tier


def chance(trial: Trial, tally: Tally, tier: Tier, dtypes: int) -> float:
    """Compute the probability that a suite of `tier`, shared by `dtypes` dtypes, has a case that refuses the variant.

    It follows from the shares of the first round's cases that refuse it, of drawn cases and of each probe separately.
    The audit's cases are smaller than the tier's, so that faults which only long reductions reveal are underrated.
    """
    budget = BUDGETS[tier]
    tried, refused = Counter[str](), Counter[str]()
    for outcome in tally.outcomes:
        if outcome.case < trial.first_round:
            kind = outcome.prop or trial.cases[outcome.case].probe or "drawn"
            tried[kind] += 1
            refused[kind] += not outcome.is_accepted
    properties = dict.fromkeys((outcome.prop for outcome in tally.outcomes if outcome.prop), 1.0)
    counts = {"drawn": budget.cases / dtypes, "nonfinite": budget.nonfinite, "empty": 1.0, **properties}
    missed = prod((1.0 - refused[kind] / tried[kind]) ** counts.get(kind, budget.probes) for kind in tried)
    return 1.0 - float(missed)


def mean_chance(trials: Sequence[Trial], tier: Tier) -> float:
    """Compute the share of all mutants that one evaluation kills, on average; NaN if there are none."""
    dtypes = Counter(trial.task for trial in trials)
    chances = [chance(trial, tally, tier, dtypes[trial.task]) for trial in trials for tally in trial.of("mutant")]
    return sum(chances) / len(chances) if chances else float("nan")

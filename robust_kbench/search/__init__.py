"""Search for failures beyond the drawn cases, and for the smallest case that fails.

Hypothesis draws sizes, dtype, layout and distribution, never elements of tensors: an example is a `Case`, and running
it is one call in the worker. A failing case, also a drawn one, is shrunk: first to the simplest probe, dtype, layout
and distribution, then to the smallest sizes, as long as it fails in the same way. Nothing runs twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robust_kbench.progress import Progress, silent
from robust_kbench.schema.record import LEAST_SEARCHED, CaseResult, Execution, Search, Tier
from robust_kbench.search.explore import explore
from robust_kbench.search.shrink import shrink
from robust_kbench.search.trials import FAILURES, Run, Trials

if TYPE_CHECKING:
    from robust_kbench.cases.space import Space

SHRINK_RUNS = 60


@dataclass(frozen=True)
class Effort:
    """Effort of a search, in examples and in seconds.

    `examples`: at most so many cases beyond the drawn ones, when all drawn ones have passed. `seconds`: for looking,
    and as much again for shrinking. `least`: so many are looked at however long they take; each call has its own limit.
    """

    examples: int
    seconds: float
    least: int = 0


EFFORTS: Mapping[Tier, Effort] = {
    "quick": Effort(0, 10.0),
    "full": Effort(60, 60.0, LEAST_SEARCHED["full"]),
    "final": Effort(300, 240.0, LEAST_SEARCHED["final"]),
}
_SLOW = Effort(12, 20.0)


def effort(tier: Tier, execution: Execution) -> Effort:
    """Return the effort of the tier, and less where a call takes a second instead of a millisecond."""
    return EFFORTS[tier] if execution == "native" or tier == "quick" else _SLOW


def search(
    space: Space,
    seed: int,
    run: Run,
    *,
    effort: Effort,
    failed: Sequence[CaseResult] = (),
    progress: Progress = silent,
    at_once: int = 1,
) -> Search | None:
    """Find the smallest failing case, from the results in `failed` or else from more cases.

    `run` judges one case; as long as nothing has failed, `at_once` threads may call it. None when nothing has failed
    and no example is to be tried.
    """
    trials = Trials(run, progress)
    start = min(failed, key=_severity, default=None)
    if start is None:
        if not effort.examples:
            return None
        trials.allow(effort.examples, effort.seconds, effort.least)
        start = explore(space, seed, trials, effort.examples, at_once)
    minimal = None
    if start is not None:
        trials.know(start)
        trials.allow(SHRINK_RUNS, effort.seconds)
        minimal = shrink(space, seed, trials, start, SHRINK_RUNS)
    return Search(examples=trials.count, covered=trials.covered(), minimal=minimal)


def _severity(result: CaseResult) -> tuple[int, int]:
    """Return a sort key: crashes first, as they decide the verdict; small cases first, as they run fast."""
    return FAILURES.index(result.status), math.prod(result.axes.values())

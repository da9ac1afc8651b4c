"""Values of timed calls. The next round's are drawn on the worker's core while the answers of this one are judged."""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from robust_kbench.cases.bank import Bank
from robust_kbench.cases.values import Inputs
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import CANDIDATE, CONTROL
from robust_kbench.schema.task import TIMED_DISTRIBUTIONS, Distribution, Task
from robust_kbench.stopwatch import Stopwatch

_UNEVEN_SHARE = 0.7  # and a fifth of the rest
_DRAWN_FOR = (CANDIDATE, CONTROL)
"""Contestants that get values of their own in a round.

The baselines, sources of ours, share others: drawing costs more than a call. The difference of equal workers must
include the effect of other values on a call, as the candidate's ratio does.
"""

Values = tuple[Case, Inputs]


class Drawing:
    """Source of values for the calls of one timed binding. Each draw has a seed and a distribution of its own."""

    def __init__(self, task: Task, case: Case, bank: Bank, watch: Stopwatch, *, core: int | None) -> None:
        """Draw from `bank`. `core`: where workers run, which are stopped between rounds; None draws nothing ahead."""
        self._case, self._bank, self._watch = case, bank, watch
        self._distributions = [name for name in TIMED_DISTRIBUTIONS if name in task.distributions]
        self._random = random.SystemRandom()
        self._beside = (
            None if core is None else ThreadPoolExecutor(1, "drawing", os.sched_setaffinity, initargs=(0, {core}))
        )
        self._ahead: Future[Mapping[str, Values]] | None = None

    def of_call(self) -> Values:
        """Draw the values of one call."""
        with self._watch.measure("inputs"):
            return self._draw(self._some_distribution())

    def of_round(self, names: Collection[str]) -> Mapping[str, Values]:
        """Return values for one call of each contestant in `names`, by its name. Other names may be there, too."""
        with self._watch.measure("inputs"):
            ahead, self._ahead = self._ahead, None
            return self._draw_round(names) if ahead is None else ahead.result()

    def begin_next(self, names: Collection[str]) -> None:
        """Begin to draw the next round for `names`, or for fewer of them. No worker may run until `wait`."""
        if self._beside is not None:
            self._ahead = self._beside.submit(self._draw_round, list(names))

    def wait(self) -> None:
        """Wait until nothing is drawn."""
        if self._ahead is not None:
            with self._watch.measure("inputs"):
                self._ahead.result()

    def close(self) -> None:
        """Wait, and end the thread beside this one."""
        if self._beside is not None:
            self._beside.shutdown()

    def _draw_round(self, names: Collection[str]) -> Mapping[str, Values]:
        distribution = self._some_distribution()
        shared = self._draw(distribution)
        return {name: self._draw(distribution) if name in _DRAWN_FOR else shared for name in names}

    def _draw(self, distribution: Distribution) -> Values:
        case = self._case.model_copy(update={"seed": self._random.getrandbits(62), "distribution": distribution})
        return case, self._bank.draw(case)

    def _some_distribution(self) -> Distribution:
        """Draw a distribution: uneven values in three quarters of the calls.

        A look at a sample of the others tells a lot of the rest.
        """
        if "uneven" in self._distributions and self._random.random() < _UNEVEN_SHARE:
            return "uneven"
        return self._random.choice(self._distributions)

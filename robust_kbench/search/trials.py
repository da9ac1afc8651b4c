"""Judged examples: each runs once, and only as long as the allowance lasts."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from robust_kbench.progress import Progress, silent
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import CaseResult

FAILURES = ("crashed", "timed_out", "incorrect")
"""Statuses of a failing example, in the order in which they decide a verdict."""
Run = Callable[[Case], CaseResult]


class Trials:
    """Results that `run` has given for each case so far."""

    def __init__(self, run: Run, progress: Progress = silent) -> None:
        self._run, self._progress = run, progress
        self._known: dict[tuple[str, int], CaseResult] = {}
        self._ran: list[Case] = []
        self._sure_runs = self._last_run = 0
        self._deadline = 0.0
        self._lock = threading.Lock()
        self._has_failed = False

    @property
    def count(self) -> int:
        """Number of calls of `run` so far."""
        return len(self._ran)

    def allow(self, runs: int, seconds: float, least: int = 0) -> None:
        """Allow at most so many calls from now on, the last of which starts within so many seconds.

        The first `least` of them start however long they take, so that a kernel cannot escape by being slow.
        """
        self._sure_runs, self._last_run = self.count + least, self.count + runs
        self._deadline = time.monotonic() + seconds

    def know(self, result: CaseResult) -> None:
        """Note the result of a case that was judged elsewhere."""
        self._known[_key(result)] = result

    def result(self, case: Case) -> CaseResult | None:
        """Return the result of a case; None when it is unknown and the allowance is used up."""
        key = _key(case)
        with self._lock:
            if key in self._known:
                return self._known[key]
            is_late = self.count >= self._sure_runs and time.monotonic() >= self._deadline
            if self.count >= self._last_run or is_late:
                return None
            self._ran.append(case)
        result = self._run(case)
        with self._lock:
            self._known[key] = result
            self._has_failed |= result.status in FAILURES
            self._progress("search", self.count, self._last_run)
        return result

    def results(self, cases: Sequence[Case], at_once: int) -> list[CaseResult | None]:
        """Return results of several cases, which `at_once` threads judge until one of them fails."""

        def result(case: Case) -> CaseResult | None:
            return None if self._has_failed else self.result(case)

        with ThreadPoolExecutor(at_once) as threads:
            return list(threads.map(result, cases))

    def covered(self) -> dict[str, int]:
        """Count the examples that had each dtype, layout and distribution or probe."""
        return dict(Counter(name for case in self._ran for name in (case.dtype, case.layout, _values(case))))


def _key(case: Case | CaseResult) -> tuple[str, int]:
    return f"{case.axes} {case.dtype} {case.layout} {_values(case)}", case.seed


def _values(case: Case | CaseResult) -> str:
    return case.probe or case.distribution

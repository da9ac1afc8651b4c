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
"""How an example fails, the status that decides a verdict first."""
Run = Callable[[Case], CaseResult]


class Trials:
    """What `run` has said about each case so far."""

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
        """Calls so far."""
        return len(self._ran)

    def allow(self, runs: int, seconds: float, least: int = 0) -> None:
        """From now on, at most so many calls, the last of which starts within so many seconds.

        The first `least` of them start however long they take, so that a kernel cannot escape by being slow.
        """
        self._sure_runs, self._last_run = self.count + least, self.count + runs
        self._deadline = time.monotonic() + seconds

    def know(self, result: CaseResult) -> None:
        """Take a result from elsewhere."""
        self._known[_key(result)] = result

    def result(self, case: Case) -> CaseResult | None:
        """None when the case is unknown and the allowance is used up."""
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
        """Results of several cases, which so many threads judge until one of them fails."""

        def result(case: Case) -> CaseResult | None:
            return None if self._has_failed else self.result(case)

        with ThreadPoolExecutor(at_once) as threads:
            return list(threads.map(result, cases))

    def covered(self) -> dict[str, int]:
        """How many examples had each dtype, layout and distribution or probe."""
        return dict(Counter(name for case in self._ran for name in (case.dtype, case.layout, _values(case))))


def _key(case: Case | CaseResult) -> tuple[str, int]:
    return f"{case.axes} {case.dtype} {case.layout} {_values(case)}", case.seed


def _values(case: Case | CaseResult) -> str:
    return case.probe or case.distribution

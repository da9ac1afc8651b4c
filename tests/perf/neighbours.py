"""Comparison of speedups on the cpu device with and without measurements on other cores of the machine.

    python tests/perf/neighbours.py [--jobs 8] SUBMISSION...

Each submission is judged in float32 at tier full, first with `jobs` at once, each on cores of its own, then one by one
on as many cores. A line for each timed shape and baseline: the speedup that a single run found alone, the speedups that
the runs beside others found, and the distance of their mean from it.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from robust_kbench import machine_shares, side_by_side
from robust_kbench.devices import open_device
from robust_kbench.devices.limits import known_limits
from robust_kbench.evaluate import Evaluator
from robust_kbench.machine_shares import Share
from robust_kbench.registry import read_submission
from robust_kbench.schema.record import CANDIDATE, CONTROL, RunRecord, decode_samples

Key = tuple[str, str, str]
"""A submission, a timed shape and a baseline."""


def main() -> None:
    """Judge the submissions both ways, and print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("submissions", nargs="+")
    parser.add_argument("--jobs", type=int, default=8)
    options = parser.parse_args()
    known_limits(open_device("cpu"))  # nobody can measure them once others are at work
    shares = machine_shares.of_cores(sorted(os.sched_getaffinity(0)), options.jobs)
    beside = _speedups(list(islice(cycle(options.submissions), len(shares))), shares)
    alone = _speedups(options.submissions, shares[:1])
    for key, (single,) in alone.items():
        away = statistics.fmean(beside[key]) / single - 1
        print(*key, f"alone {single:.3f}", "beside", *(f"{each:.3f}" for each in beside[key]), f"{away:+.1%}")


def _speedups(submissions: Sequence[str], shares: Sequence[Share]) -> dict[Key, list[float]]:
    found: dict[Key, list[float]] = defaultdict(list)
    for submission, record in side_by_side.each(_judged, submissions, jobs=len(shares), shares=shares):
        if record is None or record.status != "passed":
            raise SystemExit(f"{submission}: {record.reason if record else 'its process was killed'}")
        for shape, baseline, speedup in _measured(record):
            found[submission, shape, baseline].append(speedup)
    return found


def _judged(path: str) -> RunRecord:
    submission = read_submission(Path(path))
    file = submission.file.model_copy(update={"dtypes": ("float32",)})
    with Evaluator("cpu") as evaluator:
        return evaluator.evaluate(submission.model_copy(update={"file": file}), tier="full")


def _measured(record: RunRecord) -> Iterator[tuple[str, str, float]]:
    """Yield each shape and baseline with the geometric mean over sessions of their median speedups."""
    for timing in record.timings:
        samples = [{name: decode_samples(text) for name, text in s.samples.items()} for s in timing.sessions]
        for baseline in set(samples[0]) - {CANDIDATE, CONTROL}:
            logs = [
                statistics.median(math.log(theirs / own) for own, theirs in zip(s[CANDIDATE], s[baseline], strict=True))
                for s in samples
            ]
            yield " ".join(f"{n}={size}" for n, size in timing.axes.items()), baseline, math.exp(statistics.fmean(logs))


if __name__ == "__main__":
    main()

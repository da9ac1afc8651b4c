"""Times that the device cannot reach.

The loophole: a forged clock, work left for later or done before, an answer remembered from an earlier call: whatever
was done to the time, it may end up below what the memory and the arithmetic units allow. On a public leaderboard a
score of 0.000 once stood first.
How it is detected: the 5 % quantile of the samples against two floors. Below 0.95 of the floor at the datasheet's peaks
the time is impossible, and rejected. Below 0.95 of the floor at what was measured on this device it is suspicious, and
a warning: nothing of ours runs that fast here. The 5 % are for the clock, and for ceilings that are medians. The clock
on a CUDA device may be some microseconds wrong, whatever it measures: by so much less a time is no finding.
What it cannot see: a lie that stays above the floor, which for small shapes is far below any real time; and it knows
only the operations that the task's cost counts, so a cost must be what the best known algorithm needs. An algorithm
with fewer operations (Strassen's, at most an eighth a level) would have to run at 92 % of the peak to be refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_kbench.devices.peaks import Floor
from robust_kbench.schema.finding import Finding

_SLACK = 0.95
_QUANTILE = 0.05
_CAUSES = {
    "bytes": "the memory cannot deliver the inputs and take the outputs in that time",
    "flops": "the arithmetic units cannot do the operations in that time",
}


def inspect_times(
    case: str, times_ns: Sequence[int], floor: Floor | None, measured: Floor | None, error_ns: int = 0
) -> Iterable[Finding]:
    """At most one finding: a rejection below the datasheet's `floor`, else a warning below the `measured` one.

    `floor` and `measured` are None where the device's peaks are unknown, or were not measured. `error_ns`: by how much
    the clock may be wrong.
    """
    if not times_ns:
        return
    low_ns = sorted(times_ns)[int(_QUANTILE * len(times_ns))]
    most_ns = low_ns + error_ns
    if floor is not None and most_ns < _SLACK * floor.ns:
        yield _finding("IMPOSSIBLE", case, low_ns, floor)
    elif measured is not None and most_ns < _SLACK * measured.ns:
        yield _finding("SUSPICIOUS", case, low_ns, measured)


def _finding(word: str, case: str, low_ns: int, floor: Floor) -> Finding:
    bound = "any device of this kind" if word == "IMPOSSIBLE" else "anything measured on this device"
    message = f"{word}: calls take {low_ns / 1e3:.3g} us, {bound} needs {floor.ns / 1e3:.3g} us: {_CAUSES[floor.by]}"
    return Finding(
        guard="floor",
        severity="reject" if word == "IMPOSSIBLE" else "warn",
        message=message,
        case=case,
        evidence={"low_us": low_ns / 1e3, "floor_us": floor.ns / 1e3, "by": floor.by},
    )

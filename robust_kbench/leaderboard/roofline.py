"""Distance of a time from the least that the device allows.

A share of the floor says how well the hardware is used. It is small for small work, whatever its author does. The SOL
score says which part of the way from a baseline to the floor is gone, so that the baseline's own distance matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_MOST_US = 1e12


def plausible(us: float | None) -> float | None:
    """Return `us` if it can be a time, else None. A record may claim any number, and a floor of zero says nothing."""
    return us if us is not None and 0 < us < _MOST_US else None


def share(time_us: float, floor_us: float | None) -> float | None:
    """Return the floor in units of the time: 1 is as fast as the device allows. None if no floor is known."""
    floor_us = plausible(floor_us)
    return None if floor_us is None else floor_us / time_us


def sol_score(time_us: float, baseline_us: float, floor_us: float | None) -> float | None:
    """Return 1 / (1 + (time - floor) / (baseline - floor)): 1 at the floor, 1/2 at the baseline, towards 0 beyond.

    The formula is that of NVIDIA's SOL-ExecBench (`sol_score.py`, commit 8d2237d). None where the floor is unknown, or
    where the baseline has reached it, as no way is left to go. Times below the floor count as at it: the floor is an
    upper bound of the device with a little slack.
    """
    floor_us = plausible(floor_us)
    if floor_us is None or baseline_us <= floor_us:
        return None
    way = baseline_us - floor_us
    return way / (way + max(0.0, time_us - floor_us))


def mean(values: Sequence[float | None]) -> float | None:
    """Return the arithmetic mean of at least one value, if all are known; else None."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def geometric_mean(values: Sequence[float | None]) -> float | None:
    """Return the geometric mean of at least one positive value, if all are known; else None."""
    known = [value for value in values if value is not None]
    return math.exp(sum(map(math.log, known)) / len(known)) if known and len(known) == len(values) else None
